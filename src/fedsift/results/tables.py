"""The stage that makes an experiment's tables and figures, with every number behind them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from markupsafe import Markup

from fedsift.files import write_text
from fedsift.results.by_class import classes_csv
from fedsift.results.by_round import rounds_csv
from fedsift.results.collect import Results, collect
from fedsift.results.contributions import contributions_csv, rank_correlations_csv
from fedsift.results.exports import cells_csv, runs_csv
from fedsift.results.figures import write_figure
from fedsift.results.files import figure_names, long_files, table_names
from fedsift.results.formats import WRITERS
from fedsift.results.market import market_csv, market_summary_csv
from fedsift.results.market_free_riders import free_riders_csv
from fedsift.results.market_gaps import gaps_csv
from fedsift.results.market_screening import screening_csv
from fedsift.results.market_stages import stages_csv
from fedsift.results.overview import FILE, overview
from fedsift.results.pages import render
from fedsift.results.participation import participation_csv
from fedsift.results.reference import Reference
from fedsift.results.table import build
from fedsift.results.tested import claims_csv
from fedsift.results.verdicts import COMPARABLE
from fedsift.specs import TableSpec

_EXPORTS: Mapping[str, Callable[[Results], str]] = {
    "cells.csv": cells_csv,
    "rounds.csv": rounds_csv,
    "classes.csv": classes_csv,
    "participation.csv": participation_csv,
    "claims.csv": claims_csv,
    "runs.csv": runs_csv,
    "contributions.csv": contributions_csv,
    "rank-correlations.csv": rank_correlations_csv,
    "market.csv": market_csv,
    "market-summary.csv": market_summary_csv,
    "market-stages.csv": stages_csv,
    "market-screening.csv": screening_csv,
    "free-riders.csv": free_riders_csv,
    "gaps.csv": gaps_csv,
}


def write_tables(
    spec: TableSpec, state: Path = Path(".fedsift/runs"), reference: Path = Path("reports/reference")
) -> None:
    """Write `files.table_files(spec)`; equal inputs give equal bytes.

    Args:
        spec: the experiment's grid and the folder to write to.
        state: folder in which failed phases leave their reasons.
        reference: folder of the papers' printed numbers.

    Raises:
        FedsiftError: the specification or the reference file is wrong. Runs that are missing, failed or broken
            are no error: the tables say why they are not there.
    """
    tables, figures = table_names(spec), figure_names(spec)
    results = collect(spec, state, Reference.load(reference, spec.paper))
    folder = Path(spec.output)
    for file in long_files(spec):
        write_text(folder / file, _EXPORTS[file](results))
    fragments = {}
    for name in tables:
        table = build(results, name)
        for ending, write in WRITERS.items():
            text = write(table)
            write_text(folder / f"{name.stem}.{ending}", text)
            if ending == "html":
                fragments[name.stem] = Markup(text)
    for figure in figures:
        write_figure(results, figure, folder)
    one = overview(results)
    page = render("tables.html", one=one, base="", fragments=fragments, comparable=COMPARABLE)
    write_text(folder / "tables.html", page)
    write_text(folder / FILE, one.model_dump_json(indent=1) + "\n")
