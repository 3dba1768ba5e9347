"""What the paper says in words, and whether it holds."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedsift.errors import FedsiftError
from fedsift.results.collect import Key, Results, collect
from fedsift.results.files import TableName
from fedsift.results.layout import Kind, Table
from fedsift.results.overview import overview
from fedsift.results.reference import Reference, Where
from fedsift.results.statistics import paired
from fedsift.results.table import build
from fedsift.results.tested import claims_csv
from fedsift.results.verdicts import Verdict, judge
from fedsift.specs import TableSpec

METHODS = ["fedavg", "emfedavg", "emfedavg-once", "fedprox"]
GAINS = {10: (-0.03, -0.04, -0.05), 20: (-0.03, 0.0, 0.03), 60: (0.01, 0.02, 0.03), 80: (0.06, 0.07, 0.08)}
"""By round and seed, how much better EMFedAvg is than FedAvg."""


def experiment(made: Any, **changes: Any) -> TableSpec:
    """FedAvg stays at 0.8 and ends at 0.81; EMFedAvg differs by ``GAINS`` and ends at 0.9; the others end at 0.5."""
    values = {"paper": "emfedavg", "scale": "emfedavg", "dataset": "mnist", "noises": ["clean"], "clients": [100]}
    spec: TableSpec = made.spec(**values | {"methods": METHODS, "rounds": 100} | changes)
    for cell in spec.cells:
        gains = {"fedavg": dict.fromkeys(GAINS, 0.0), "emfedavg": {at: by[cell.seed] for at, by in GAINS.items()}}
        rows = [made.row(at - 1, 0.8 + gain) for at, gain in gains.get(cell.method, {}).items()]
        last = {"fedavg": 0.81, "emfedavg": 0.9}.get(cell.method, 0.5)
        made.run(cell.phases[0], [*rows, made.row(99, last)])
    return spec


def results(made: Any, spec: TableSpec) -> Results:
    return collect(spec, Path("state"), Reference.load(made.reference, spec.paper))


def rows(made: Any, spec: TableSpec) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(claims_csv(results(made, spec)))))


def row(found: list[dict[str, str]], claim: str) -> dict[str, str]:
    (one,) = (row for row in found if row["claim"] == claim)
    return one


def table(made: Any, spec: TableSpec) -> Table:
    return build(results(made, spec), TableName("", "claims"))


def test_claims_by_hand(made: Any) -> None:
    found = rows(made, experiment(made))
    early = row(found, "emfedavg below fedavg after 10 rounds")
    assert [float(pair.split(":")[1]) for pair in early["by_seed"].split()] == pytest.approx(GAINS[10])
    assert (float(early["mean"]), early["n"], early["verdict"]) == (pytest.approx(-0.04), "3", "holds")
    assert float(early["high"]) == pytest.approx(-0.04 + 4.302653 * 0.01 / 3**0.5, abs=1e-7)
    verdicts = {one["claim"]: (one["verdict"], one["reason"]) for one in found if one["method"] == "emfedavg"}
    assert verdicts == {
        "emfedavg below fedavg after 10 rounds": ("holds", ""),
        "emfedavg below fedavg after 20 rounds": ("cannot be told", "the interval includes zero"),
        # 0.02 +- 0.0248
        "emfedavg above fedavg after 60 rounds": ("cannot be told", "the interval includes zero"),
        "emfedavg above 86.81 % after 80 rounds": ("cannot be told", "the interval includes zero"),
        "emfedavg after 80 rounds above fedavg at its best round": ("holds", ""),
        # 0.9 is not above 0.9
        "emfedavg above 90 % at its best round": ("cannot be told", "the interval includes zero"),
        "emfedavg above fedavg, each at its best round": ("holds", ""),
    }
    best = row(found, "emfedavg after 80 rounds above fedavg at its best round")
    assert float(best["mean"]) == pytest.approx(0.87 - 0.81)
    assert float(row(found, "emfedavg above 86.81 % after 80 rounds")["mean"]) == pytest.approx(0.87 - 0.8681)


def test_methods_that_stand_for_it_are_tested_too_and_others_not(made: Any) -> None:
    found = rows(made, experiment(made))
    assert {one["method"] for one in found} == {"emfedavg", "emfedavg-once"}
    assert row(found, "emfedavg-once above fedavg, each at its best round")["verdict"] == "does not hold"
    untested = row(found, "emfedavg-once above fedavg after 60 rounds")
    assert (untested["n"], untested["reason"]) == ("0", "no run was tested after 60 rounds")
    assert untested["verdict"] == "no result of ours"


def test_the_table(made: Any) -> None:
    one = table(made, experiment(made))
    assert (one.corner, one.columns) == ("claim", ["emfedavg", "emfedavg-once"])
    label, cells = one.rows[0]
    assert label == "emfedavg below fedavg after 10 rounds"
    assert {kind: line.text for kind, line in cells[0].items()} == {
        Kind.DIFFERENCE: "−4.00 ± 2.48",
        Kind.SEEDS: "3",
        Kind.CLAIM_VERDICT: "holds",
    }
    assert cells[1][Kind.DIFFERENCE].text == "–"
    assert dict(one.notes)[cells[1][Kind.CLAIM_VERDICT].mark] == "no run was tested after 10 rounds"
    assert sum("early rounds without a number" in text for _, text in one.notes) == 1


def test_few_seeds_missing_runs_and_short_runs(made: Any) -> None:
    spec = experiment(made, seeds=[0, 1])
    early = row(rows(made, spec), "emfedavg below fedavg after 10 rounds")
    assert (early["verdict"], early["reason"]) == ("cannot be told", "fewer than 3 seeds")
    Path(spec.cells[0].phases[0], "history.csv").unlink()
    Path(spec.cells[3].phases[0], "history.csv").unlink()
    apart = row(rows(made, spec), "emfedavg below fedavg after 10 rounds")
    assert (apart["n"], apart["reason"]) == ("0", "no seed in common with fedavg")
    Path(spec.cells[1].phases[0], "history.csv").unlink()
    gone = row(rows(made, spec), "emfedavg below fedavg after 10 rounds")
    assert (gone["verdict"], gone["reason"]) == ("no result of ours", "fedavg: all seeds: not run yet")
    short = made.finished(paper="emfedavg", dataset="mnist", noises=["clean"], clients=[100], methods=METHODS)
    assert row(rows(made, short), "emfedavg above fedavg after 60 rounds")["reason"] == "the runs end after 4 rounds"


def test_another_scale_is_not_judged(made: Any) -> None:
    found = rows(made, experiment(made, scale="paper"))
    early = row(found, "emfedavg below fedavg after 10 rounds")
    assert (float(early["mean"]), early["verdict"]) == (pytest.approx(-0.04), "scale is not the paper's")


def test_without_claims_there_are_no_rows_and_no_table_on_the_page(made: Any) -> None:
    for changes in ({}, {"paper": "emfedavg"}, {"paper": "emfedavg", "dataset": "mnist", "noises": ["clean"]}):
        spec = made.spec(**changes)
        assert rows(made, spec) == []
        assert (table(made, spec).rows, table(made, spec).columns) == ([], [])
        assert overview(results(made, spec)).tables == []
    assert overview(results(made, experiment(made))).tables == ["tables/claims"]


def test_the_claims_name_noise_and_clients_where_there_are_several(made: Any) -> None:
    spec = experiment(made, noises=["clean", "closed-set"], clients=[100, 50])
    assert table(made, spec).rows[0][0] == "clean, 100 clients: emfedavg below fedavg after 10 rounds"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_a_verdict_is_a_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    ours, other = ([pair[at] for pair in pairs] for at in (0, 1))
    found, reason = judge(paired(dict(enumerate(ours)), dict(enumerate(other))), "above", True)
    opposite, _ = judge(paired(dict(enumerate(ours)), dict(enumerate(other))), "below", True)
    assert {found, opposite} in ({Verdict.OPEN}, {Verdict.HOLDS, Verdict.FAILS})
    differences = np.subtract(ours, other)
    if len(pairs) < 3:
        assert (found, reason) == (Verdict.OPEN, "fewer than 3 seeds")
    elif differences.std() > 1e-9:
        p = stats.ttest_rel(ours, other).pvalue
        if abs(p - 0.05) > 1e-9:
            told = Verdict.HOLDS if differences.mean() > 0 else Verdict.FAILS
            assert found == (told if p < 0.05 else Verdict.OPEN)


def test_equal_runs_tell_nothing() -> None:
    same = {0: 0.5, 1: 0.6, 2: 0.7}
    assert judge(paired(same, same), "above", True) == (Verdict.OPEN, "the interval includes zero")


def test_the_papers_numbers(made: Any) -> None:
    reference = Reference.load(made.reference, "emfedavg")
    where = Where("mnist", "clean", 100, "emfedavg-weights", "accuracy", "best", "value")
    assert [getattr(reference.find(place), "value", None) for place in (
        where, where._replace(at="last"), where._replace(method="fedavg"), where._replace(method="fedprox"),
        where._replace(quantity="gain over fedavg"),
    )] == [0.91, 0.91, 0.8681, None, 0.05]  # fmt: skip
    assert [entry.value for entry in reference.alternatives(where._replace(method="fedavg"))] == [0.85, 0.86]
    assert len(reference.claims) == 7


def test_another_split_is_compared_with_nothing(made: Any) -> None:
    own = {"scheme": "shards", "shards": 200, "shard_size": 300, "seed": 3}
    for partition, rows_wanted in ((own, 14), (own | {"per_client": [1, 5]}, 0), ({"scheme": "iid"}, 0)):
        spec = experiment(made, partition=partition)
        assert len(rows(made, spec)) == rows_wanted
        value = results(made, spec).value(Key("clean", 100, "emfedavg"), "accuracy", "best")
        assert (value.printed is None) == (rows_wanted == 0)


MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"method": "emfedag"}, "claims, entry 1, method: 'emfedag' is not listed in methods; did you mean 'emfedavg'?"),
    ({"against": "sgd"}, "claims, entry 1, against: 'sgd' is not listed in methods; add it to methods"),
    ({"against": None}, "claims, entry 1: below needs the method that it is against, and no value."),
    ({"value": 0.5}, "claims, entry 1: below needs the method that it is against, and no value."),
    ({"kind": "above value"}, "claims, entry 1: above value needs a value, and no other method."),
    ({"against": "emfedavg"}, "claims, entry 1: emfedavg is compared with itself."),
    ({"kind": "near"}, "claims, entry 1, kind: Input should be"),
    ({"at": 0}, "claims, entry 1, at"),
    ({"round": 10}, "claims, entry 1, round: Extra inputs are not permitted"),
]


def test_a_split_of_an_unlisted_data_set(made: Any) -> None:
    content = yaml.safe_load((made.reference / "emfedavg.yaml").read_text(encoding="utf-8"))
    content["splits"]["cifar10"] = {"scheme": "iid"}
    Path("emfedavg.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(FedsiftError, match="splits, cifar10: it is not listed in datasets"):
        Reference.load(Path(), "emfedavg")


@pytest.mark.parametrize(("change", "message"), MISTAKES)
def test_mistakes_name_file_and_entry(made: Any, change: dict[str, object], message: str) -> None:
    content = yaml.safe_load((made.reference / "emfedavg.yaml").read_text(encoding="utf-8"))
    content["claims"][0] |= change
    Path("emfedavg.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(FedsiftError) as error:
        Reference.load(Path(), "emfedavg")
    assert str(error.value).startswith(f"emfedavg.yaml: {message}")
    assert "\n" not in str(error.value)
