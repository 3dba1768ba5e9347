"""Accuracy after so many rounds."""

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fedsift.results.by_round import chosen, rounds_csv
from fedsift.results.collect import Results, collect
from fedsift.results.files import TableName
from fedsift.results.formats import WRITERS
from fedsift.results.layout import Kind, Table
from fedsift.results.reference import Reference
from fedsift.results.table import build
from fedsift.specs import TableSpec


def results(made: Any, spec: TableSpec, reference: Path | None = None) -> Results:
    return collect(spec, Path("state"), Reference.load(reference or made.reference, spec.paper))


def table(made: Any, spec: TableSpec, reference: Path | None = None) -> Table:
    name = TableName(spec.noises[0], "accuracy-by-round", clients=spec.clients[0])
    return build(results(made, spec, reference), name)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def emfedavg(made: Any, **changes: Any) -> TableSpec:
    """Two seeds of 100 rounds with 100 clients, tested after 60 (0.6, 0.62) and 100 rounds (0.9, 0.92)."""
    spec: TableSpec = made.spec(
        **{"paper": "emfedavg", "scale": "emfedavg", "dataset": "mnist", "noises": ["clean"], "clients": [100]},
        **{"methods": ["fedavg", "emfedavg"], "seeds": [0, 1], "rounds": 100} | changes,
    )
    for cell in spec.cells:
        made.run(
            cell.phases[0], [made.row(59, 0.6 + 0.02 * cell.seed), made.row(99, 0.9 + 0.02 * cell.seed)], spec.rounds
        )
    return spec


def test_columns_count_rounds_from_one_and_rows_are_methods(made: Any) -> None:
    one = table(made, made.finished())
    assert one.columns == ["1", "2", "3", "4", "seeds"]
    assert [label for label, _ in one.rows] == ["fedavg", "loss-ocsvm"]
    texts = [cell[Kind.MEAN].text for cell in one.rows[1][1]]
    assert texts == ["10.00 ± 0.00", "20.00 ± 0.00", "46.00 ± 2.48", "44.00 ± 2.48", "3"]
    assert one.title == "CIFAR-10: closed-set, 1000 clients, accuracy after so many rounds"
    assert WRITERS["csv"](one).startswith("method,%,1,2,3,4,seeds\n")
    assert "\\begin{tabular}{llrrrrr}" in WRITERS["tex"](one)
    assert "\\label{tab:cifar-closed-set-K1000-accuracy-by-round}" in WRITERS["tex"](one)


def test_the_csv_has_every_digit(made: Any) -> None:
    found = rows(rounds_csv(results(made, made.finished())))
    (row,) = (row for row in found if (row["method"], row["after_rounds"]) == ("fedavg", "3"))
    assert (float(row["mean"]), row["n"]) == (pytest.approx(0.41), "3")
    assert float(row["high"]) - float(row["mean"]) == pytest.approx(4.302653 * 0.01 / 3**0.5, abs=1e-7)
    assert (row["paper"], row["verdict"]) == ("", "no value printed")
    assert len(found) == 2 * 4


def test_the_last_round_has_the_papers_number_of_the_last_round(made: Any) -> None:
    one = table(made, emfedavg(made))
    last = one.rows[1][1][1]
    assert one.columns == ["60", "100", "seeds"]
    assert (last[Kind.PAPER].text, last[Kind.VERDICT].text) == ("91.00 (0.00)", "within margin")
    assert dict(one.notes)[last[Kind.PAPER].mark].startswith("Printed without decimals; whether")
    assert Kind.PAPER not in one.rows[0][1][1]


def test_a_number_printed_for_a_round_stands_there(made: Any) -> None:
    content = yaml.safe_load((made.reference / "emfedavg.yaml").read_text(encoding="utf-8"))
    content["values"].append(content["values"][0] | {"at": 60, "value": 0.62})
    content["values"].append(content["values"][0] | {"at": 100, "value": 0.5})
    Path("emfedavg.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    spec = emfedavg(made)
    cells = table(made, spec, Path()).rows[0][1]
    assert [cell[Kind.PAPER].text for cell in cells[:2]] == ["62.00 (−1.00)", "50.00 (+41.00)"]
    assert [cell[Kind.VERDICT].text for cell in cells[:2]] == ["within margin", "differs"]
    row = rows(rounds_csv(results(made, spec, Path())))[0]
    assert (row["paper"], row["after_rounds"], row["verdict"]) == ("0.62", "60", "within margin")
    # After all T rounds is the last round.
    value = results(made, spec, Path()).value(next(results(made, spec).grid()), "accuracy", "last")
    assert value.printed is not None
    assert value.printed.value == 0.5


def test_missing_and_partly_tested_seeds_say_so(made: Any) -> None:
    spec = emfedavg(made)
    Path(spec.cells[0].phases[0], "history.csv").unlink()
    made.run(spec.cells[1].phases[0], [made.row(99, 0.9)])
    made.run(spec.cells[2].phases[0], [made.row(99, 0.9)])
    one = table(made, spec)
    (_, plain), (_, emf) = one.rows
    notes = dict(one.notes)
    assert notes[plain[0][Kind.MEAN].mark] == "no seed was tested in this round"
    assert (plain[2][Kind.MEAN].text, notes[plain[2][Kind.MEAN].mark]) == ("1 of 2", "seed 0: not run yet")
    assert notes[emf[0][Kind.MEAN].mark] == "tested in this round: 1 of 2 seeds"


def test_without_any_run_there_is_a_line_a_method(made: Any) -> None:
    one = table(made, made.spec())
    assert one.columns == ["seeds"]
    assert [cells[0][Kind.MEAN].text for _, cells in one.rows] == ["0 of 3", "0 of 3"]
    assert rounds_csv(results(made, made.spec())).count("\n") == 1


def test_many_evaluations_are_thinned_out_in_the_table_alone(made: Any) -> None:
    spec = made.spec(rounds=101, seeds=[0], methods=["fedavg"])
    made.history(spec.cells[0].phases[0], [made.row(at, 0.5) for at in range(101)])
    one = table(made, spec)
    assert one.columns == [*(str(1 + 10 * k) for k in range(11)), "seeds"]
    assert one.notes == [("", "11 of 101 evaluations; rounds.csv has all.")]
    assert "\n- 11 of 101" in WRITERS["md"](one)
    assert len(rows(rounds_csv(results(made, spec)))) == 101


@given(st.sets(st.integers(1, 2000), min_size=1), st.integers(2, 15))
def test_chosen_rounds_are_even_and_end_with_the_last(afters: set[int], most: int) -> None:
    places = sorted(afters)
    found = chosen(places, most)
    assert len(found) == min(most, len(places))
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (places[0], places[-1])
    steps = {places.index(b) - places.index(a) for a, b in pairwise(found)}
    assert not steps or max(steps) - min(steps) <= 1
