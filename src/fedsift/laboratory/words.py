"""Findings in sentences."""

import math
from collections.abc import Sequence

from fedsift.laboratory.lies import Lie
from fedsift.laboratory.promises import Promises
from fedsift.laboratory.truthfulness import GAIN, Probe
from fedsift.results.statistics import Estimate, estimate

LIMITS_OF_THE_AUDIT = (
    "The audit takes each round by itself and one bidder at a time: it says nothing of lies that pay in later rounds "
    "(see --lie), of clients that agree on their bids, of false arrivals, or of bids that it did not try."
)


def of_promises(name: str, found: Promises) -> str:
    """Individual rationality and budgets."""
    paid = (
        f"all {found.hires:,} hires are paid at least their bid"
        if not found.underpaid
        else f"{found.underpaid:,} of {found.hires:,} hires are paid less than bid, by up to {found.worst_loss:.3g}"
    )
    spans = " and ".join(f"of {'the run' if span == 'run' else f'each {span}'}" for span in found.spans)
    spent = (
        f"the budget {spans} is kept"
        if not found.exceeded
        else f"{found.exceeded:,} of {found.limits:,} budgets ({spans}) are exceeded, by up to {found.worst_excess:.3g}"
    )
    return f"{name}: {paid}; {spent}."


def of_probes(name: str, found: Sequence[Probe]) -> str:
    """Truthfulness within a round."""
    tried = sum(probe.tried for probe in found)
    best = max(found, key=lambda probe: probe.gain)
    paying = sum(probe.gain > GAIN for probe in found)
    start = f"{name}: {tried:,} lies of {len(found):,} bidders"
    if not paying:
        return f"{start}: none pays in its round."
    return (
        f"{start}: {paying} bidders have one that pays in its round, the best {best.gain:.4g} "
        f"(round {best.t}, client {best.client}, cost {best.cost:.4g}, bid {best.lie:.4g})."
    )


def best_lie(found: Sequence[Lie], own_out: bool | None) -> tuple[Sequence[Lie], Estimate]:
    """The lies with the factor and time that pay best on average over the clients, and their mean gain."""
    groups: dict[tuple[str, float], list[Lie]] = {}
    for lie in found:
        if lie.leave_own_out == own_out:
            groups.setdefault((lie.when, lie.factor), []).append(lie)
    best = max(groups.values(), key=lambda group: math.fsum(lie.gain for lie in group))
    mean = estimate([lie.gain for lie in best])
    assert mean is not None
    return best, mean


def of_lies(name: str, found: Sequence[Lie]) -> str:
    """Lies across rounds: the best of those tried for each variant."""
    parts = []
    for own_out in dict.fromkeys(lie.leave_own_out for lie in found):
        best, mean = best_lie(found, own_out)
        honest = math.fsum(lie.honest for lie in best) / len(best)
        gain = sum(lie.gain > GAIN for lie in best)
        where = {True: "with own bids left out of the threshold, ", False: "with own bids in it, ", None: ""}[own_out]
        half = f" ± {mean.half:.2g}" if mean.half is not None else ""
        parts.append(
            f"{where}the best lie is bids times {best[0].factor:g} in {best[0].when} rounds; it changes a client's "
            f"utility by {mean.mean:+.3g}{half} on average (honest: {honest:.3g}), {gain} of {len(best)} gain"
        )
    return f"{name}: {'; '.join(parts)}."
