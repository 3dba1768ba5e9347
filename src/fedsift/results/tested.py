"""The paper's claims, tested on our runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fedsift.results.claims import At, Claim
from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, interval, why
from fedsift.results.long import Value, text
from fedsift.results.long import interval as columns
from fedsift.results.statistics import Estimate, paired
from fedsift.results.verdicts import Verdict, judge

_COLUMNS = (
    *("noise", "clients", "method", "claim", "kind", "metric", "at", "against", "against_at", "value"),
    *("by_seed", "mean", "low", "high", "n", "verdict", "reason", "source", "note"),
)


@dataclass(frozen=True)
class Tested:
    """A claim, tested on one of our methods."""

    claim: Claim
    key: Key
    by_seed: Mapping[int, float]
    """Our difference from the other method, paired by seed, or from the number (shares)."""
    ours: Estimate | None
    verdict: Verdict
    reason: str
    """Why there is no verdict."""


def tested(results: Results) -> Iterator[Tested]:
    """Every claim on the experiment's data set, noises, client counts and methods.

    A claim on a method is tested on every method of ours that stands for it.
    """
    spec = results.spec
    for claim in results.reference.claims:
        if claim.dataset == spec.dataset and claim.noise in spec.noises and claim.clients in spec.clients:
            for method in results.methods(claim.noise):
                if results.reference.printed_name(method) == claim.method:
                    yield _test(results, claim, Key(claim.noise, claim.clients, method))


def claims_table(results: Results, name: TableName) -> Table:
    """A row per claim, a column per method that it is tested on; without rows where there are no claims."""
    notes = Notes()
    found = list(tested(results))
    methods = list(dict.fromkeys(one.key.method for one in found))
    rows: dict[Claim, dict[str, Cell]] = {}
    for one in found:
        rows.setdefault(one.claim, {})[one.key.method] = _cell(one, notes)
    spec = results.spec
    body = [(_heading(results, claim), [cells.get(method, {}) for method in methods]) for claim, cells in rows.items()]
    remarks: dict[str, list[str]] = {}
    for claim in rows:
        if claim.note:
            remarks.setdefault(claim.note, []).append(claim.text(claim.method))
    of_claims = [f"{'; '.join(claims)}: {note}" for note, claims in remarks.items()]
    title = f"{spec.title}: what the paper says, tested on our runs"
    return Table(name, spec.experiment, title, methods, body, notes.list(*of_claims), corner="claim")


def claims_csv(results: Results) -> str:
    """One row per claim and method of ours; `by_seed` holds `seed:difference`, spaces between."""
    rows: list[dict[str, Value]] = [
        {
            **one.key._asdict(),
            "claim": one.claim.text(one.key.method),
            **{name: getattr(one.claim, name) for name in ("kind", "metric", "at", "against", "against_at", "value")},
            "by_seed": " ".join(f"{seed}:{value!r}" for seed, value in one.by_seed.items()),
            **columns(one.ours),
            "verdict": str(one.verdict),
            **{"reason": one.reason, "source": one.claim.source, "note": one.claim.note},
        }
        for one in tested(results)
    ]
    return text(_COLUMNS, rows)


def _test(results: Results, claim: Claim, key: Key) -> Tested:
    values = results.group(key).by_seed(claim.metric, claim.at)
    reason = "" if values else _absent(results, key, claim.at)
    if claim.against is None:
        other = dict.fromkeys(values, claim.value or 0.0)
    else:
        place, at = key._replace(method=claim.against), claim.against_at or claim.at
        other = results.group(place).by_seed(claim.metric, at)
        reason = reason or ("" if other else f"{claim.against}: {_absent(results, place, at)}")
    by_seed = {seed: values[seed] - other[seed] for seed in sorted(values.keys() & other.keys())}
    ours = paired(values, other)
    wanted: Literal["above", "below"] = "below" if claim.kind == "below" else "above"
    verdict, why_not = judge(ours, wanted, results.comparable)
    if ours is None:
        reason = reason or f"no seed in common with {claim.against}"
    return Tested(claim, key, by_seed, ours, verdict, reason or why_not)


def _absent(results: Results, key: Key, at: At) -> str:
    """Why a method has no figure at a round."""
    group = results.group(key)
    if not group.runs:
        return why(group, results.spec.seeds)
    after = isinstance(at, int) and at > results.spec.rounds
    return f"the runs end after {results.spec.rounds} rounds" if after else f"no run was tested after {at} rounds"


def _heading(results: Results, claim: Claim) -> str:
    spec = results.spec
    parts = [claim.noise] if len(spec.noises) > 1 else []
    parts += [f"{claim.clients} clients"] if len(spec.clients) > 1 else []
    return ", ".join(parts) + (": " if parts else "") + claim.text(claim.method)


def _cell(one: Tested, notes: Notes) -> Cell:
    verdict = Line(str(one.verdict), notes.mark(one.reason))
    if one.ours is None:
        return {Kind.DIFFERENCE: Line(DASH), Kind.CLAIM_VERDICT: verdict}
    return {
        Kind.DIFFERENCE: Line(interval(one.ours, signed=True)),
        Kind.SEEDS: Line(str(one.ours.n)),
        Kind.CLAIM_VERDICT: verdict,
    }
