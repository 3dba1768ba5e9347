import time

import pytest
import torch
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Evidence, Method
from fedsift.training.run import cost
from fedsift.training.stopwatch import Stopwatch


def test_adds_up_and_counts_what_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([1.0, 3.0, 10.0, 14.5])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    watch = Stopwatch(torch.device("cpu"))
    with watch:
        pass
    with pytest.raises(ZeroDivisionError), watch:
        _ = 1 / 0
    assert watch.seconds == 6.5


def test_waits_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    with Stopwatch(torch.device("cuda", 1)):
        assert len(waited) == 1
    assert waited == [torch.device("cuda", 1)] * 2


class Slow(Method):
    """Every hook that selects takes at least 10 ms."""

    def select(self, *_: object) -> None:
        time.sleep(0.01)

    def reply_signals(self, round_: int) -> frozenset:
        return frozenset({"embedding"})

    def reply(self, *_: object) -> dict:
        time.sleep(0.01)
        return {}

    def observe(self, round_: int, evidence: Evidence) -> None:
        time.sleep(0.01)


def test_select_reply_and_observe_are_measured() -> None:
    spec = spec_of()
    federation = federation_of(spec, Slow(Method.Options(), task_of(spec)), samples_of(list(SIZES)))
    rows = [federation.round(round_) for round_ in range(2)]
    assert federation.engine.scoring.seconds >= 2 * 4 * 0.02
    assert federation.fitting.seconds >= 2 * 0.01
    assert all("second" not in name for row in rows for name in row)


def test_sentence() -> None:
    assert cost(2.0, 1.1, 120.4) == (
        "selection took 3.1 s of 120.4 s (2.6%): 2.0 s on the clients, 1.1 s on the server"
    )
    assert cost(0.02, 0.02, 120.4) == ""
