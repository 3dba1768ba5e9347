"""The stage that makes the report of a scale: one page, opened from disk, without network or scripts."""

import posixpath
from pathlib import Path

from markupsafe import Markup

from fedsift.data import catalog
from fedsift.errors import FedsiftError
from fedsift.files import write_text
from fedsift.results.overview import Overview
from fedsift.results.pages import render
from fedsift.results.verdicts import COMPARABLE
from fedsift.specs import ReportSpec


def write_report(spec: ReportSpec) -> None:
    """Write `files.report_files(spec)`; equal table folders give equal bytes.

    The page refers to the table folders by relative paths, so they must lie in the report's folder, which can then
    be moved or sent as a whole.

    Raises:
        FedsiftError: a table folder is missing, is incomplete or lies outside the report's folder.
    """
    experiments = [_experiment(spec, folder) for folder in spec.tables]
    done = sum(one.done for one, _, _ in experiments)
    total = sum(one.total for one, _, _ in experiments)
    unfinished = sum(one.unfinished for one, _, _ in experiments)
    names = sorted({name for one, _, _ in experiments for name in (one.dataset, *one.sources)})
    papers = {one.paper: one for one, _, _ in experiments}
    page = render(
        "index.html",
        scale=spec.scale,
        experiments=experiments,
        comparable=COMPARABLE,
        done=done,
        total=total,
        open=unfinished,
        failed=total - done - unfinished,
        datasets=[(name, catalog.load().get(name)) for name in names],
        papers=[papers[paper] for paper in sorted(papers)],
    )
    write_text(Path(spec.output, "index.html"), page)


def _experiment(spec: ReportSpec, folder: str) -> tuple[Overview, str, dict[str, Markup]]:
    """An experiment's overview, its folder as seen from the page (with a slash), and its tables by stem."""
    base = posixpath.relpath(folder, spec.output)
    if base.startswith(".."):
        raise FedsiftError(
            f"report {spec.output}: the tables in {folder} lie outside it; put them into the report's "
            "folder, so that it is complete in itself."
        )
    one = Overview.read(Path(folder))
    fragments = {}
    for stem in one.stems:
        path = Path(folder, f"{stem}.html")
        try:
            fragments[stem] = Markup(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FedsiftError(f"{path}: no such file; make this experiment's tables anew.") from None
    return one, f"{base}/", fragments
