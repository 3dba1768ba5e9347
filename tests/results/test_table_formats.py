"""Tables in all formats: dashes with reasons, and hostile names as text."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fedsift.results.collect import collect
from fedsift.results.files import TableName, What
from fedsift.results.formats import WRITERS, latex_text, markdown_text
from fedsift.results.layout import Kind, Table, letter
from fedsift.results.reference import Reference
from fedsift.results.table import build
from fedsift.specs import GroupSpec, TableSpec

STATE = Path("state")
HOSTILE = "<b>&\"'|`_$x^2$\\input{a}~#%*[a](b)\n--"


def table(made: Any, spec: TableSpec, what: What = "accuracy-best") -> Table:
    return build(collect(spec, STATE, Reference.load(made.reference, spec.paper)), TableName("closed-set", what))


def cell(one: Table, column: int = 1) -> dict[Kind, str]:
    return {kind: line.text for kind, line in one.rows[0][1][column].items()}


def test_a_cell(made: Any) -> None:
    assert cell(table(made, made.finished())) == {
        Kind.MEAN: "46.00 ± 2.48",
        Kind.SEEDS: "3",
        Kind.GAIN: "+5.00 ± 0.00",
        Kind.PAPER: "44.94 (+1.06)",
        Kind.VERDICT: "differs",
        Kind.PAPER_GAIN: "+5.20 (−0.20)",
        Kind.GAIN_VERDICT: "within margin",
    }


def test_the_last_round_has_the_last_evaluations_beside_it_and_nothing_of_the_paper(made: Any) -> None:
    last = cell(table(made, made.finished(), "accuracy-last"))
    assert list(last) == [Kind.MEAN, Kind.LAST_10, Kind.SEEDS, Kind.GAIN]
    assert last[Kind.LAST_10].startswith("30.00 ± ")


def test_reconstruction(made: Any) -> None:
    one = table(made, made.finished(), "reconstruction")
    assert one.title == "CIFAR-10: closed-set, reconstruction: PSNR and SSIM"
    assert one.columns == ["fedavg", "loss-ocsvm"]
    assert cell(one) == {
        Kind.PSNR_BEST: "20.46 ± 0.02",
        Kind.SSIM_BEST: "−0.0400 ± 0.0248",
        Kind.PSNR_LAST: "20.44 ± 0.02",
        Kind.SSIM_LAST: "−0.0600 ± 0.0248",
        Kind.SEEDS: "3",
    }
    assert "per cent" not in "".join(write(one) for write in WRITERS.values())


def test_a_run_without_reconstructions_has_a_dash(made: Any) -> None:
    spec = made.finished()
    rows = [made.row(at, 0.4, psnr="", ssim="") for at in range(4)]
    for cell_spec in spec.cells:
        if cell_spec.method == "loss-ocsvm":
            made.history(cell_spec.phases[0], rows)
    assert set(cell(table(made, spec, "reconstruction")).values()) == {"–"}


def test_a_table_of_a_group_of_methods(made: Any) -> None:
    groups = {"small": GroupSpec(title="small ones", methods=["loss-ocsvm", "fedavg"])}
    spec = made.finished(methods=["fedavg", "other", "loss-ocsvm"], groups=groups)
    results = collect(spec, STATE, Reference.load(made.reference, spec.paper))
    one = build(results, TableName("closed-set", "accuracy-best", "small"))
    assert one.title == "CIFAR-10, small ones: closed-set, accuracy at the best round"
    assert one.columns == ["loss-ocsvm", "fedavg"]
    assert cell(one, 0)[Kind.GAIN] == "+10.00 ± 0.00"
    assert "\\label{tab:cifar-small-closed-set-accuracy-best}" in WRITERS["tex"](one)


def test_detection(made: Any) -> None:
    one = table(made, made.finished(), "detection")
    assert one.columns == ["loss-ocsvm"]
    assert cell(one, 0) == {
        Kind.PRECISION: "60.00 ± 0.00",
        Kind.RECALL: "50.00 ± 0.00",
        Kind.AUC: "80.00 ± 0.00",
        Kind.SEEDS: "3",
    }


def test_one_seed_has_no_interval(made: Any) -> None:
    assert cell(table(made, made.finished(seeds=[4])), 0)[Kind.MEAN] == "44.00"


def test_a_gain_over_fewer_seeds_says_so(made: Any) -> None:
    spec = made.finished()
    Path("runs/closed-set/1000/0/0/history.csv").unlink()
    one = table(made, spec)
    assert cell(one, 0)[Kind.SEEDS] == "2 of 3"
    mark = one.rows[0][1][1][Kind.GAIN].mark
    assert dict(one.notes)[mark] == "only the 2 seeds that fedavg has too"


@pytest.mark.parametrize("ending", WRITERS)
def test_missing_cells_are_dashes_that_say_why_in_every_format(made: Any, ending: str) -> None:
    spec = made.spec()
    phase = STATE / "runs/closed-set/1000/1/0"
    phase.mkdir(parents=True)
    (phase / "failure.json").write_text(json.dumps({"reason": "Out of memory.", "log": "a.log"}))
    one = table(made, spec)
    assert one.notes[0][1] == "all seeds: not run yet"
    assert ("b" if one.notes[1][0] == "b" else "c") in dict(one.notes)
    text = WRITERS[ending](one)
    assert "all seeds: not run yet" in text
    assert "seed 0: failed: Out of memory.; seeds 1, 2: not run yet" in text
    dash = {"csv": "– [a]", "md": "–<sup>a</sup>", "tex": r"--\textsuperscript{a}", "html": "–<sup>a</sup>"}
    assert dash[ending] in text


def test_methods_that_a_noise_does_not_have_get_no_column(made: Any) -> None:
    spec = made.finished()
    cells = [one for one in spec.cells if one.method == "fedavg"]
    assert table(made, spec.model_copy(update={"cells": cells})).columns == ["fedavg"]


def test_an_unplanned_seed_is_no_silent_gap(made: Any) -> None:
    spec = made.finished()
    cells = [one for one in spec.cells if (one.method, one.seed) != ("fedavg", 2)]
    one = table(made, spec.model_copy(update={"cells": cells}))
    assert "seed 2: not part of the experiment" in dict(one.notes).values()


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "th":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_hostile_names_stay_text(made: Any) -> None:
    one = table(made, made.finished(methods=["fedavg", HOSTILE], title=HOSTILE))
    assert next(csv.reader(io.StringIO(WRITERS["csv"](one)))) == ["clients", "%", "fedavg", HOSTILE]
    page = Text()
    page.feed(WRITERS["html"](one))
    assert page.cells[2].strip() == HOSTILE
    assert "b" not in page.tags
    tex = WRITERS["tex"](one)
    body = tex[tex.index("\\toprule") : tex.index("\\bottomrule")]
    # Every row has as many separators, and no special character of the name is left bare.
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines()[1:] if "&" in line} == {3}
    assert "\\input" not in tex
    lines = [line for line in WRITERS["md"](one).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}
    assert "<b>" not in WRITERS["md"](one).replace("\\<b\\>", "")


def test_escapes() -> None:
    assert latex_text("50 % & a_b ± −1\n#") == "50 \\% \\& a\\_b $\\pm$ $-$1 \\#"
    assert latex_text("\\^~{}<>|$") == (
        "\\textbackslash{}\\textasciicircum{}\\textasciitilde{}\\{\\}\\textless{}\\textgreater{}\\textbar{}\\$"
    )
    assert markdown_text("a|b*c_d\n<e>[f]") == "a\\|b\\*c\\_d \\<e\\>\\[f\\]"


def test_footnote_letters_go_on_after_z() -> None:
    assert [letter(index) for index in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]
