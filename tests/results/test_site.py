"""The page: well-formed, complete in itself, and the same each time."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from fedsift.data import catalog
from fedsift.errors import FedsiftError
from fedsift.results.files import report_files
from fedsift.results.site import write_report
from fedsift.results.tables import write_tables
from fedsift.specs import ReportSpec

VOID = {"meta", "img", "br", "link", "hr"}


class Page(HTMLParser):
    """Checks nesting and unique ids, and collects links and sources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        assert len(values) == len(attrs)
        self.ids += [value for key, value in attrs if key == "id" and value]
        self.links += [value for key, value in attrs if key in ("href", "src") and value]
        if tag == "img":
            assert values["alt"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], (tag, self.getpos())
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


def addresses(known: catalog.DataSet) -> set[str]:
    """Where a data set comes from."""
    return {known.homepage, *(url for one in (*known.archives, *known.files) for url in one.urls)}


def report(made: Any) -> ReportSpec:
    """Two experiments, one of them with a hostile title, a missing run and an awkward folder."""
    first = made.finished(scale="quick", output="reports/quick/cifar")
    write_tables(first, reference=made.reference)
    changes = {
        "title": '<i>x</i> & "y"',
        "experiment": "second",
        "methods": ["fedavg", "<script>alert(1)</script>"],
    }
    second = made.finished(scale="quick", output="reports/quick/a b+c#d", **changes)
    Path(second.cells[0].phases[0], "history.csv").unlink()
    write_tables(second, reference=made.reference)
    return ReportSpec(scale="quick", tables=[first.output, second.output], output="reports/quick")


def test_the_page_is_well_formed_and_its_links_lead_somewhere(made: Any) -> None:
    spec = report(made)
    write_report(spec)
    (index,) = map(Path, report_files(spec))
    page = Page(index.read_text(encoding="utf-8"))
    assert len(page.ids) == len(set(page.ids))
    assert not page.tags & {"script", "i"}
    assert len(page.links) > 40
    for link in page.links:
        # What is made elsewhere, or by a command that may never have run, as the page says.
        if link in {*addresses(catalog.get("cifar10")), "audit.html"}:
            continue
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert not re.match(r"[a-z]+:|/", link)
            assert (index.parent / unquote(link)).is_file(), link
    assert "Scale quick: 11 of 12 runs done, 0 failed, 1 not run yet." in page.text
    assert "<script>alert(1)</script>" in page.text


def test_every_table_folder_fragment_is_well_formed(made: Any) -> None:
    spec = report(made)
    for folder in spec.tables:
        page = Page(Path(folder, "tables.html").read_text(encoding="utf-8"))
        for link in page.links:
            assert Path(folder, unquote(link)).is_file(), link


def test_the_page_needs_neither_network_nor_scripts(made: Any) -> None:
    spec = report(made)
    write_report(spec)
    text = Path("reports/quick/index.html").read_text(encoding="utf-8")
    # Addresses are there for people to follow; nothing is loaded from them.
    text = re.sub(r'<a href="https?://[^"]+" rel="noreferrer">[^<]+</a>', "", text)
    assert not [word for word in ("http", "@import", "url(", "<script") if word in text]
    for need in ("prefers-color-scheme: dark", "@media print", "width=device-width", '<html lang="en">'):
        assert need in text


def test_same_bytes_and_movable_as_a_whole(made: Any) -> None:
    spec = report(made)
    write_report(spec)
    first = Path("reports/quick/index.html").read_bytes()
    write_report(spec)
    assert Path("reports/quick/index.html").read_bytes() == first
    assert b"reports/quick" not in first


def test_tables_elsewhere_missing_or_broken_are_errors(made: Any) -> None:
    with pytest.raises(FedsiftError, match="lie outside it"):
        write_report(ReportSpec(scale="quick", tables=["elsewhere/cifar"], output="reports/quick"))
    with pytest.raises(FedsiftError, match=r"cifar/overview.json: no such file"):
        write_report(ReportSpec(scale="quick", tables=["reports/quick/cifar"], output="reports/quick"))
    spec = report(made)
    Path("reports/quick/cifar/tables/closed-set-accuracy-best.html").unlink()
    with pytest.raises(FedsiftError, match=r"closed-set-accuracy-best\.html: no such file"):
        write_report(spec)
    Path("reports/quick/cifar/overview.json").write_text("{}")
    with pytest.raises(FedsiftError, match="not an overview of tables"):
        write_report(spec)


def test_data_sets_and_papers_are_cited_with_licence_address_and_checksums(made: Any) -> None:
    spec = made.finished(scale="quick", output="reports/quick/cifar", sources=["svhn", "my-own"])
    write_tables(spec, reference=made.reference)
    write_report(ReportSpec(scale="quick", tables=[spec.output], output="reports/quick"))
    page = Page(Path("reports/quick/index.html").read_text(encoding="utf-8"))
    for name in ("cifar10", "svhn"):
        known = catalog.get(name)
        assert addresses(known) <= {*page.links}
        words = {known.title, known.licence, known.citation, *(file.sha256 for file in known.files)}
        assert not [word for word in words if word and word not in page.text]
    assert "not verified: they are as published" in page.text
    assert "the user's own data set; the record of fedsift fetch my-own" in page.text
    assert "101920; arXiv 2604.26116v1." in page.text


def test_a_paper_without_a_reference_file_is_said_to_have_none(made: Any) -> None:
    spec = made.finished(scale="quick", output="reports/quick/cifar", paper="unknown")
    write_tables(spec, reference=made.reference)
    write_report(ReportSpec(scale="quick", tables=[spec.output], output="reports/quick"))
    assert "unknown: no reference file names it." in Path("reports/quick/index.html").read_text(encoding="utf-8")
