"""The stage on a tiny federation: it plays the loop's own round."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import SIZES, TEST, federation_of, spec_of

from fedsift.config.model import Contributions
from fedsift.contributions import rows
from fedsift.contributions.schemes import SCHEMES
from fedsift.contributions.stage import write_contributions
from fedsift.contributions.value import Diverged, Value
from fedsift.errors import FedsiftError
from fedsift.specs import ContributionSpec, TrainSpec
from fedsift.training.run import train
from fedsift.training.streams import clients_by_round

CALM = {"lr": 0.1}
"""The rate of the other tests is too high for a second round to be better than the first."""


def asked(run: TrainSpec, **how: Any) -> ContributionSpec:
    section = {"methods": [run.method.label], "rounds": [run.start], "validation": TEST} | how
    return ContributionSpec(run=run, how=Contributions.model_validate(section), output="out/contributions.csv")


def made(spec: ContributionSpec) -> list[dict[str, float]]:
    write_contributions(spec, "cpu", report=lambda line: None)
    found = rows.read(Path(spec.output))
    assert found is not None
    return [{name: float(row[name]) for name in rows.COLUMNS[1:]} for row in found]


def column(found: list[dict[str, float]], name: str) -> list[float]:
    return [row[name] for row in found]


def test_the_round_is_that_of_the_loop(world: Path) -> None:
    """Everybody's average is the loop's next model, bit for bit."""
    run = spec_of(training=CALM, start=0, stop=1, evaluation={"every": 1, "batch_size": 16})
    found = made(asked(run))
    row = federation_of(run).round(0)
    assert set(column(found, "v_everybody")) == {row["accuracy"]}
    assert column(found, "client") == sorted(clients_by_round(0, 6, 4).tolist())
    assert column(found, "samples") == [SIZES[int(client)] for client in column(found, "client")]
    assert sum(column(found, "used")) == row["used"]


def test_from_a_checkpoint_on(world: Path) -> None:
    train(spec_of(training=CALM, stop=3), "code", "cpu", report=lambda line: None)
    run = spec_of(training=CALM, phase="out/after", parent="runs/fedavg@3", start=3, stop=4)
    found = made(asked(run, value="cross-entropy"))
    alone = federation_of(spec_of(training=CALM, evaluation={"every": 1, "batch_size": 16}))
    scores = [alone.round(round_) for round_ in range(4)]
    assert column(found, "client") == sorted(clients_by_round(3, 6, 4).tolist())
    assert found[0]["v_nobody"] == -scores[2]["cross_entropy"]
    assert found[0]["v_everybody"] == -scores[3]["cross_entropy"]


def test_the_round_after_the_last_one(world: Path) -> None:
    train(spec_of(training=CALM, stop=12), "code", "cpu", report=lambda line: None)
    found = made(asked(spec_of(training=CALM, phase="out/after", parent="runs/fedavg@12", start=12, stop=13)))
    assert column(found, "client") == sorted(clients_by_round(12, 6, 4).tolist())


@pytest.mark.parametrize(
    "how", [{}, {"exact_up_to": 2, "permutations": 40}, {"form": "inverse", "value": "cross-entropy"}]
)
def test_shares_add_up_and_schemes_are_themselves(world: Path, how: dict[str, Any]) -> None:
    found = made(asked(spec_of(training=CALM, sampling={"share": 1.0}), budget=60, **how))
    assert len(found) == 6
    for scheme in SCHEMES:
        assert sum(column(found, f"{scheme}_share")) == pytest.approx(60)
        assert min(column(found, f"{scheme}_share")) >= 0
    assert column(found, "equal_share") == [10] * 6
    gain = found[0]["v_everybody"] - found[0]["v_nobody"]
    assert sum(column(found, "shapley_u")) == pytest.approx(gain)
    assert sum(column(found, "union_u")) == pytest.approx(gain)
    sampled = "exact_up_to" in how
    assert any(column(found, "shapley_error")) == sampled
    assert found[0]["evaluations"] <= 64
    order = np.argsort(column(found, "emd"))
    assert (np.diff(np.array(column(found, "emd_share"))[order]) <= 1e-12).all()


def test_equal_inputs_give_equal_bytes(world: Path) -> None:
    spec = asked(spec_of(training=CALM, sampling={"share": 1.0}), exact_up_to=0, permutations=20)
    made(spec)
    before = Path(spec.output).read_bytes()
    Path(spec.output).unlink()
    made(spec)
    assert Path(spec.output).read_bytes() == before


def test_who_does_not_train_is_a_null_player_only_where_it_is_left_out(world: Path) -> None:
    """A free rider sends the round's model back and counts with its samples: what it changes is counted too."""
    federation = federation_of(spec_of(training=CALM, sampling={"share": 1.0}))
    updates = federation.updates(0)
    value = Value(federation, updates, "cross-entropy", TEST)
    assert value((5,)) == value(())
    assert value((0, 5)) != value((0,))


def test_what_a_method_removes_is_judged_too(world: Path) -> None:
    run = spec_of("emfedavg", training=CALM, sampling={"share": 1.0}, stop=1)
    federation = federation_of(run)
    assert federation.round(0)["averaged"] < 6
    assert len(made(asked(run))) == 6


def test_looking_at_a_round_changes_no_model(world: Path) -> None:
    federation = federation_of(spec_of(training=CALM))
    before = {name: value.clone() for name, value in federation.state.items()}
    updates = federation.updates(0)
    Value(federation, updates, "accuracy", TEST)((0, 1))
    assert all(torch.equal(federation.state[name], before[name]) for name in before)
    twin = federation_of(spec_of(training=CALM))
    assert federation.round(0) == twin.round(0)


def test_a_run_that_has_diverged_has_nothing_to_share(world: Path) -> None:
    wild = {"lr": 1e30}
    train(spec_of(training=wild, stop=3), "code", "cpu", report=lambda line: None)
    for run in (
        spec_of(training=wild, stop=1),
        spec_of(training=wild, phase="out/after", parent="runs/fedavg@3", start=3, stop=4),
    ):
        lines: list[str] = []
        spec = asked(run)
        write_contributions(spec, "cpu", report=lines.append)
        assert rows.read(Path(spec.output)) is None
        assert "nothing to share" in lines[-1]


def test_a_model_that_computes_nothing_finite_has_no_value(world: Path) -> None:
    federation = federation_of(spec_of(training=CALM))
    updates = federation.updates(0)
    for value in updates[0].state.values():
        value.fill_(1e38)
    with pytest.raises(Diverged):
        Value(federation, updates, "accuracy", TEST)((0,))


def test_more_validation_images_than_there_are(world: Path) -> None:
    with pytest.raises(FedsiftError, match=r"validation is 21, but partition.parquet holds out 20 validation images"):
        write_contributions(asked(spec_of(), validation=21), "cpu")


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="no such file"):
        rows.read(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FedsiftError, match="no contributions"):
        rows.read(tmp_path / "other.csv")
    rows.write(tmp_path / "words.csv", [{"status": "ok", **dict.fromkeys(rows.COLUMNS[1:], 1), "emd": "nan"}])
    with pytest.raises(FedsiftError, match="no contributions .emd is nan"):
        rows.read(tmp_path / "words.csv")
