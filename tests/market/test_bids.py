"""What is no bid, no log and no tender: one sentence each."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fedsift.errors import FedsiftError
from fedsift.market.benchmark import proportional_share
from fedsift.market.bids import Bid, Bids
from fedsift.market.iaofl import IaoflOptions
from fedsift.market.log import BidLog
from fedsift.market.tender import Tender


def log(t: list[int], client: list[int], b: list[float], q: list[float]) -> BidLog:
    return BidLog(np.array(t, dtype=np.int64), np.array(client, dtype=np.int64), np.array(b, float), np.array(q, float))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(0, 0.5, 1.0), (1, 1.5, 1.0)], "bids: row 2 bids 1.5; a bid is a number from 0 to 1."),
        ([(0, -0.1, 1.0)], "row 1 bids -0.1;"),
        ([(0, math.nan, 1.0)], "row 1 bids nan;"),
        ([(0, 0.5, 0.0)], "row 1 has the quality 0.0; a quality is above 0 and at most 1."),
        ([(0, 0.5, 1.1)], "row 1 has the quality 1.1;"),
        ([(0, 0.5, math.nan)], "row 1 has the quality nan;"),
        ([(-1, 0.5, 1.0)], "row 1 has the client number -1; number clients from 0."),
        ([(4, 0.5, 1.0), (2, 0.1, 1.0), (4, 0.2, 1.0)], "client 4 bids twice in one round; leave it one bid."),
    ],
)
def test_wrong_rounds(rows: list[tuple[int, float, float]], words: str) -> None:
    with pytest.raises(FedsiftError) as error:
        Bids.of([Bid(*row) for row in rows])
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_of_different_lengths() -> None:
    with pytest.raises(FedsiftError, match="2 clients, 1 bids and 1 qualities; give each row all three"):
        Bids(np.arange(2), np.ones(1), np.ones(1))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([], [], [], []), "the bid log is empty; give it at least one bid."),
        (([1], [0, 1], [0.5, 0.5], [1.0, 1.0]), "1 rounds for 2 bids; give each row its round."),
        (([1, 2, 1], [0, 1, 2], [0.5] * 3, [1.0] * 3), "row 3 is of round 1; sort the rows by round"),
        (([0], [0], [0.5], [1.0]), "row 1 is of round 0; sort the rows by round, from 1 upwards."),
        (([1, 1, 1], [3, 2, 3], [0.5] * 3, [1.0] * 3), "row 3 is a second bid of client 3 in round 1;"),
        (([1, 2], [3, 3], [0.5, 2.0], [1.0] * 2), "bid log: row 2 bids 2.0;"),
    ],
)
def test_wrong_logs(columns: tuple[Any, ...], words: str) -> None:
    with pytest.raises(FedsiftError) as error:
        log(*columns)
    assert words in str(error.value)


def test_rounds_of_a_log() -> None:
    made = log([1, 1, 3], [5, 2, 5], [0.1, 0.2, 0.3], [1.0] * 3)
    rounds = dict(made.rounds(4))
    assert [len(rounds[t]) for t in (1, 2, 3, 4)] == [2, 0, 1, 0]
    assert rounds[1].client.tolist() == [5, 2]
    assert rounds[3].b.tolist() == [0.3]
    with pytest.raises(FedsiftError, match="goes up to round 3; cut it at round 2"):
        list(made.rounds(2))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0, 1.0, 1), "T = 0 rounds"),
        ((1, 0.0, 1), "budget B = 0.0; give it a number above 0."),
        ((1, -2.0, 1), "budget B = -2.0"),
        ((1, math.nan, 1), "budget B = nan"),
        ((1, math.inf, 1), "budget B = inf"),
        ((1, 1.0, 0), "N = 0 clients"),
        ((1, 1.0, 1, 0.0), "initial quality 0.0"),
        ((1, 1.0, 1, 1.5), "initial quality 1.5"),
    ],
)
def test_wrong_tenders(values: tuple[Any, ...], words: str) -> None:
    with pytest.raises(FedsiftError) as error:
        Tender(*values)
    assert words in str(error.value)


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf])
def test_wrong_budget_of_the_benchmark(budget: float) -> None:
    with pytest.raises(FedsiftError, match="give it a number above 0"):
        proportional_share(log([1], [0], [0.5], [1.0]), budget)


def test_limits_that_do_not_fit() -> None:
    with pytest.raises(ValidationError, match="min_num 9 is above max_num 8; lower it or raise max_num"):
        IaoflOptions(min_num=9)
