"""`fedsift crate`: gather, describe, write, and say how large it is."""

from collections.abc import Sequence
from pathlib import Path

from fedsift.crate.content import Content
from fedsift.crate.metadata import NAME, metadata
from fedsift.crate.pack import write_folder, write_zip
from fedsift.crate.people import git_user
from fedsift.crate.planned import planned
from fedsift.crate.published import published
from fedsift.crate.readme import NAME as README
from fedsift.crate.readme import readme
from fedsift.workflow import Plan, scale_files


def run(scale: str, overlays: Sequence[Path], root: Path | None, agent: str | None, out: Path) -> None:
    """Write the crate of a scale, or of the published folder ``root``, to ``out``: a .zip file or a new folder.

    Raises:
        FedsiftError: something that belongs into the crate is missing or is not what its record describes.
    """
    if root is None:
        files = [*scale_files(scale), *overlays]
        content = planned(Plan.of_files(files), files)
    else:
        content = published(root)
    write(content, agent or git_user(), out)
    absent = sum(file.size for file in content.absent.values())
    size = out.stat().st_size if out.is_file() else sum(map(len, content.files.values()))
    others = f"{len(content.absent)} files of {absent / 1e6:,.1f} MB are named by their sha256 alone"
    print(f"{out}: {len(content.files)} files, {size / 1e6:,.2f} MB; {others}")


def write(content: Content, agent: str | None, out: Path) -> None:
    """Describe a content and write it."""
    content.settle()
    content.files[README] = readme(content).encode()
    content.files[NAME] = metadata(content, agent).encode()
    if out.suffix == ".zip":
        write_zip(content.files, content.ended, out)
    else:
        write_folder(content.files, out)
