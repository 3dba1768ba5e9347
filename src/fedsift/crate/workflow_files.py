"""The workflow's own files, as they are in the working folder."""

from collections.abc import Iterable
from pathlib import Path

from fedsift.crate.content import Content, fits
from fedsift.errors import FedsiftError

NEEDED = ("Snakefile", "envs/requirements.lock")
PATTERNS = ("rules/*.smk", "profiles/*/*.yaml", "envs/*.yaml", "reports/captions/*.rst", "reports/reference/*.yaml")
WORDS = ("LICENSE", "CITATION.cff")
"""Taken where they are there: a checkout has them, a folder that was made for one study may not."""


def add_workflow(content: Content, config: Iterable[Path]) -> None:
    """Put the workflow into the crate: rules, lock, configuration files and the papers' printed numbers.

    Raises:
        FedsiftError: this is not the folder of the workflow, or a configuration file lies outside it.
    """
    for name in NEEDED:
        content.add(name, Path(name))
    for path in sorted(path for pattern in PATTERNS for path in Path().glob(pattern)):
        content.add(path.as_posix(), path)
    for name in WORDS:
        if Path(name).is_file():
            content.add(name, Path(name))
    for path in config:
        if path.is_absolute() or ".." in path.parts:
            raise FedsiftError(f"{path}: the configuration file lies outside the project; copy it into config/.")
        if not fits(path.as_posix(), 0):
            raise FedsiftError(f"{path}: a configuration file ends in .yaml; rename it.")
        content.add(path.as_posix(), path)
        content.config.append(path.as_posix())
