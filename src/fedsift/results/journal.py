"""Read the journal of a run's bids; whatever is wrong with it becomes a reason, never a number."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from fedsift.data.noises.behaviour import FREE_RIDER, HONEST, MISLABELLED
from fedsift.results.runs import Run
from fedsift.specs import MarketSpec

COLUMNS = ("round", "client", "b", "q", "rho", "price", "loss", "flagged", "quality")
"""Arrays of the journal in a checkpoint (see ``fedsift.methods.auction.JOURNAL``)."""
BEHAVIOURS = (HONEST, FREE_RIDER, MISLABELLED)

_PREFIX = "method/journal."
_SLACK = 1e-9
"""Relative; sums of prices differ in the last bits with their order."""


@dataclass(frozen=True, eq=False)
class Journal:
    """All n bids of one run, round by round.

    Attributes:
        T: rounds of the run; a round without bids has no entry.
        round: [n] int64, from 0, ascending.
        client: [n] int64, from 0.
        b: [n], the bid, in [0, 1].
        q: [n], the quality that was known then, in (0, 1].
        rho: [n], the threshold in force, inf where there was none.
        price: [n], at least the bid and at most 1; NaN: not hired.
        loss: [n], the validation loss without this client; it may be infinite. NaN where nobody was judged.
        flagged: [n], 1 or 0; NaN: not judged.
        quality: [n], q_i^t in (0, 1]; NaN: not judged, or the round says nothing of quality.
        behaviour: [n] of ``BEHAVIOURS``.
    """

    T: int
    round: NDArray[np.int64]
    client: NDArray[np.int64]
    b: NDArray[np.float64]
    q: NDArray[np.float64]
    rho: NDArray[np.float64]
    price: NDArray[np.float64]
    loss: NDArray[np.float64]
    flagged: NDArray[np.float64]
    quality: NDArray[np.float64]
    behaviour: NDArray[np.object_]

    @property
    def hired(self) -> NDArray[np.bool_]:
        """[n]."""
        return ~np.isnan(self.price)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """[n]."""
        return ~np.isnan(self.flagged)


class _UnusableError(Exception):
    """What is wrong with a journal."""


def read_journal(run: Run, market: MarketSpec) -> Journal | str:
    """The journal of a finished run, or a sentence's part that says why it cannot be used."""
    try:
        columns = _columns(Path(run.cell.phases[-1], "checkpoint.safetensors"))
        T, K = len(run.clients), run.cell.clients
        round_, client = (_whole(name, columns[name], below) for name, below in (("round", T), ("client", K)))
        behaviour = _behaviours(Path(run.cell.rates or ""), K)
        journal = Journal(
            T, round_, client, **{name: columns[name] for name in COLUMNS[2:]}, behaviour=behaviour[client]
        )
        _check(journal, market)
        hired = np.bincount(round_[journal.hired], minlength=T)
        _all(run.clients <= hired, "the history has more clients than the journal in round {}", np.arange(T))
    except _UnusableError as error:
        return f"unusable journal: {error}"
    return journal


def _columns(path: Path) -> dict[str, NDArray[np.float64]]:
    try:
        with safe_open(path, framework="numpy") as file:
            there = set(file.keys())
            if absent := [name for name in COLUMNS if _PREFIX + name not in there]:
                raise _UnusableError(f"the checkpoint has no {', '.join(absent)}")
            found = {name: np.asarray(file.get_tensor(_PREFIX + name)) for name in COLUMNS}
    except FileNotFoundError:
        raise _UnusableError("there is no checkpoint") from None
    except (SafetensorError, OSError) as error:
        raise _UnusableError(f"the checkpoint is not readable ({error})") from None
    if {array.dtype for array in found.values()} != {np.dtype(np.float64)}:
        raise _UnusableError("its columns are not of 64-bit numbers")
    if len({array.shape for array in found.values()}) > 1 or found["round"].ndim != 1:
        raise _UnusableError("its columns differ in length")
    return found


def _behaviours(path: Path, K: int) -> NDArray[np.object_]:
    """[K], from the rates table."""
    try:
        table = pd.read_parquet(path, columns=["client", "label", "behaviour"])
    except FileNotFoundError:
        raise _UnusableError("there is no rates table") from None
    except (OSError, ValueError, KeyError) as error:
        raise _UnusableError(f"the rates table is not readable ({error})") from None
    whole = table[(table["client"] >= 0) & (table["label"] < 0)].sort_values("client")
    if not np.array_equal(whole["client"], np.arange(K)):
        raise _UnusableError(f"the rates table is not one of {K} clients")
    found = whole["behaviour"].to_numpy(dtype=object)
    if strange := set(found) - set(BEHAVIOURS):
        raise _UnusableError(f"the rates table has the behaviour {min(map(str, strange))!r}")
    return found


def _whole(name: str, values: NDArray[np.float64], below: int) -> NDArray[np.int64]:
    good = (values >= 0) & (values < below) & (values == np.floor(values))
    _all(
        good, f"bid {{}} has the {name} {{}}, which is none of 0 to {below - 1}", np.arange(1, len(values) + 1), values
    )
    return values.astype(np.int64)


def _check(one: Journal, market: MarketSpec) -> None:
    at = np.arange(1, len(one.round) + 1)
    hired, judged = one.hired, one.judged
    _all(np.diff(one.round, prepend=0) >= 0, "bid {} goes back to round {}", at, one.round)
    _all(_first_of_round(one), "client {} bids twice in round {}", one.client, one.round)
    _all((one.b >= 0) & (one.b <= 1), "bid {} is {}, not from 0 to 1", at, one.b)
    _all((one.q > 0) & (one.q <= 1), "bid {} has the known quality {}, not above 0 and at most 1", at, one.q)
    _all(one.rho >= 0, "bid {} has the threshold {}", at, one.rho)
    # A threshold may round a price that equals the bid to just below it.
    fair = (one.price >= one.b * (1 - _SLACK)) & (one.price <= 1)
    _all(~hired | fair, "bid {}, {}, has the price {}, not from the bid to 1", at, one.b, one.price)
    _all(hired | np.isnan(one.loss), "bid {} has a loss without it and was not hired", at)
    _all(hired | ~judged, "bid {} is judged and was not hired", at)
    _all(~judged | np.isin(one.flagged, (0, 1)), "bid {} is flagged {}, not 0 or 1", at, one.flagged)
    _all(judged | np.isnan(one.quality), "bid {} has a quality and was not judged", at)
    good = np.isnan(one.quality) | ((one.quality > 0) & (one.quality <= 1))
    _all(good, "bid {} has the quality {}, not above 0 and at most 1", at, one.quality)
    _all(judged == (hired & market.judges), "bid {} is {}judged", at, np.where(judged, "", "hired and not "))
    _all(market.screens | ~(one.flagged > 0), "bid {} is flagged by a method that does not screen", at)
    if (spent := float(one.price[hired].sum())) > market.budget * (1 + _SLACK):
        raise _UnusableError(f"it spends {spent:g} of {market.budget:g}")


def _first_of_round(one: Journal) -> NDArray[np.bool_]:
    good = np.zeros(len(one.round), bool)
    place = one.round * (one.client.max(initial=0) + 1) + one.client
    good[np.unique(place, return_index=True)[1]] = True
    return good


def _all(good: NDArray[np.bool_], sentence: str, *values: NDArray[np.generic]) -> None:
    if not good.all():
        first = int(np.argmin(good))
        raise _UnusableError(sentence.format(*(value[first] for value in values)))
