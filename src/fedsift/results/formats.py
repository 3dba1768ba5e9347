"""A table as CSV, Markdown, LaTeX and HTML; names are text, whatever is in them."""

import csv
import io
import re
from collections.abc import Callable, Iterator

from fedsift.results.layout import MINUS, Cell, Kind, Line, Table
from fedsift.results.pages import render


def to_csv(table: Table) -> str:
    """Comma-separated, UTF-8; footnotes follow the rows, with `note` in the first column."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([table.corner, _unit(table), *table.columns])
    for label, kind, lines in _flat(table):
        texts = [line.text.replace(MINUS, "-") + (f" [{line.mark}]" if line.mark else "") for line in lines]
        writer.writerow([label, kind, *texts])
    writer.writerows(["note", letter, text] for letter, text in table.notes)
    return buffer.getvalue()


def to_markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table."""
    head = [markdown_text(name) for name in (table.corner, _unit(table), *table.columns)]
    rule = ["---:" if table.corner == "clients" else ":---", ":---", *("---:" for _ in table.columns)]
    body = [
        [
            markdown_text(label),
            markdown_text(kind),
            *(markdown_text(line.text) + _superscript(line.mark) for line in lines),
        ]
        for label, kind, lines in _flat(table, repeat=False)
    ]
    rows = "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *body])
    notes = "\n".join("- " + f"{_superscript(letter)} {markdown_text(text)}".strip() for letter, text in table.notes)
    return "\n\n".join(part for part in (f"**{markdown_text(table.title)}**", rows, notes) if part) + "\n"


def to_latex(table: Table) -> str:
    """A table for the booktabs package, with caption, label and footnotes."""
    count = f"K{table.name.clients}" if table.name.clients else ""
    parts = filter(None, (table.experiment, table.name.group, table.name.noise, count, table.name.what))
    label = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(parts))
    out = [
        "% needs \\usepackage{booktabs} and, before TeX Live 2018, \\usepackage[utf8]{inputenc}",
        "\\begin{table}[ht]",
        "\\centering\\small\\setlength{\\tabcolsep}{4pt}",
        f"\\caption{{{latex_text(table.title)}{', per cent' if table.percent else ''}}}\\label{{tab:{label}}}",
        f"\\begin{{tabular}}{{{'r' if table.corner == 'clients' else 'l'}l{'r' * len(table.columns)}}}",
        "\\toprule",
        " & ".join([table.corner, "", *map(latex_text, table.columns)]) + " \\\\",
    ]
    for label_text, kind, lines in _flat(table, repeat=False):
        if label_text:
            out.append("\\midrule")
        cells = [latex_text(line.text) + (f"\\textsuperscript{{{line.mark}}}" if line.mark else "") for line in lines]
        out.append(" & ".join([latex_text(label_text), latex_text(kind), *cells]) + " \\\\")
    out += ["\\bottomrule", "\\end{tabular}"]
    for letter, text in table.notes:
        mark = f"\\textsuperscript{{{letter}}} " if letter else ""
        out.append(f"\\par\\smallskip{{\\footnotesize{mark or ' '}{latex_text(text)}\\par}}")
    return "\n".join([*out, "\\end{table}"]) + "\n"


def to_html(table: Table) -> str:
    """A `<figure>` with the table and its footnotes, to be put into a page."""
    return render("table.html", table=table, Kind=Kind)


WRITERS: dict[str, Callable[[Table], str]] = {
    "csv": to_csv,
    "md": to_markdown,
    "tex": to_latex,
    "html": to_html,
}
"""By file ending, see `files.FORMATS`."""


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, in a table cell too."""
    return re.sub(r"([\\`*_{}<>#|~&$\[\]])", r"\\\1", _one_line(text))


_LATEX = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "±": "$\\pm$",
    MINUS: "$-$",
    "–": "--",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _flat(table: Table, repeat: bool = True) -> Iterator[tuple[str, str, list[Line]]]:
    """A row per row and kind of line; without ``repeat`` the row's name stands in the first only."""
    for label, cells in table.rows:
        first = True
        for kind in table.kinds:
            lines = [_line(cell, kind) for cell in cells]
            if any(line.text for line in lines):
                yield label if repeat or first else "", str(kind), lines
                first = False


def _line(cell: Cell, kind: Kind) -> Line:
    return cell.get(kind, Line(""))


def _unit(table: Table) -> str:
    return "%" if table.percent else "figure"


def _superscript(mark: str) -> str:
    return f"<sup>{mark}</sup>" if mark else ""
