from functools import partial
from typing import Any

import numpy as np
import pytest
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Evidence
from fedsift.methods.loadaboost import Loadaboost


def epochs(m: Loadaboost, losses: list[float], E: int) -> int:
    """Passes that a client makes whose losses after each pass are given."""
    made = 0
    while m.goes_on(5, 0, made, E, partial(losses.__getitem__, made - 1)):
        made += 1
    return made


def method(median: float = np.nan, **options: Any) -> Loadaboost:
    m = Loadaboost(Loadaboost.Options.model_validate(options), task_of(spec_of()))
    m.median = median
    return m


@pytest.mark.parametrize(
    ("losses", "E", "made"),
    [
        ([9, 9, 9, 9, 9, 9, 9, 9], 4, 6),
        ([9, 0.5, 9, 9, 9, 9, 9, 9], 4, 2),
        ([9, 1.0, 9, 9, 9, 9, 9, 9], 4, 2),
        ([9, 2, 0.5, 9, 9, 9, 9, 9], 4, 3),
        ([0, 9, 9, 9, 9, 9, 9, 9], 5, 7),
        ([0, 0, 0.5, 9, 9, 9, 9, 9], 5, 3),
        ([0.5], 1, 1),
        ([9.0, 9.0], 1, 1),
    ],
)
def test_epochs_by_hand(losses: list[float], E: int, made: int) -> None:
    """Median 1: from E/2 rounded up to 3E/2 rounded down."""
    assert epochs(method(1.0), losses, E) == made


def test_the_first_round_trains_as_ever() -> None:
    assert epochs(method(), [9.0] * 9, 5) == 5


def test_median_of_the_last_rounds_clients() -> None:
    m = method()
    m.observe(0, Evidence([0, 1, 2], [{"loss": np.array(x)} for x in (3.0, 1.0, 2.5)], [1, 1, 1]))
    assert m.median == 2.5
    again = method()
    again.load_state_dict(m.state_dict())
    assert again.median == 2.5
    fresh = method()
    fresh.load_state_dict({})
    assert np.isnan(fresh.median)


def test_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two epochs: one at least, three at most, and not all clients the same."""
    spec = spec_of(sampling={"share": 1.0}, training={"epochs": 2})
    m = Loadaboost(Loadaboost.Options(), task_of(spec))
    made: dict[tuple[int, int], int] = {}
    plain = m.goes_on

    def counted(round_: int, client: int, epoch: int, of: int, loss: Any) -> bool:
        made[round_, client] = epoch
        return plain(round_, client, epoch, of, loss)

    monkeypatch.setattr(m, "goes_on", counted)
    federation = federation_of(spec, m, samples_of(list(SIZES)))
    for round_ in range(4):
        federation.round(round_)
    assert {n for (round_, _), n in made.items() if round_ == 0} == {2}
    later = {n for (round_, _), n in made.items() if round_ > 0}
    assert {1, 3} <= later <= {1, 2, 3}
