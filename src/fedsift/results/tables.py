"""The stage that makes an experiment's tables and figures, with every number behind them."""

from pathlib import Path

from markupsafe import Markup

from fedsift.files import write_text
from fedsift.results.collect import collect
from fedsift.results.exports import cells_csv, runs_csv
from fedsift.results.figures import write_figure
from fedsift.results.files import figure_names, table_names
from fedsift.results.formats import WRITERS
from fedsift.results.overview import FILE, overview
from fedsift.results.pages import render
from fedsift.results.reference import Reference
from fedsift.results.table import build
from fedsift.specs import TableSpec


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
    write_text(folder / "cells.csv", cells_csv(results))
    write_text(folder / "runs.csv", runs_csv(results))
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
    write_text(folder / "tables.html", render("tables.html", one=one, base="", fragments=fragments))
    write_text(folder / FILE, one.model_dump_json(indent=1) + "\n")
