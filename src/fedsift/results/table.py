"""The tables of an experiment by name; those with final figures, detection and reconstructions are filled here."""

from collections.abc import Callable, Iterator, Mapping

from fedsift.results.by_class import by_class_table
from fedsift.results.by_round import by_round_table
from fedsift.results.collect import Key, Results
from fedsift.results.contributions import contributions_table
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, plain, printed_lines, why
from fedsift.results.market import market_table
from fedsift.results.market_free_riders import free_riders_table
from fedsift.results.market_gaps import gaps_table
from fedsift.results.market_screening import screening_table
from fedsift.results.market_stages import stages_table
from fedsift.results.participation import participation_table
from fedsift.results.reference import BASELINE
from fedsift.results.runs import At
from fedsift.results.statistics import Estimate, estimate
from fedsift.results.tested import claims_table

_METRICS = {"accuracy": "accuracy", "macro-f1": "macro F1"}
_ROUNDS = {"best": "best round", "last": "last round"}
_DETECTION = {
    Kind.PRECISION: "detection_precision",
    Kind.RECALL: "detection_recall",
    Kind.AUC: "detection_auc",
}
_RECONSTRUCTION: dict[Kind, tuple[str, At, int]] = {
    Kind.PSNR_BEST: ("psnr", "best", 2),
    Kind.SSIM_BEST: ("ssim", "best", 4),
    Kind.PSNR_LAST: ("psnr", "last", 2),
    Kind.SSIM_LAST: ("ssim", "last", 4),
}
"""Metric, round and decimals."""


def build(results: Results, name: TableName) -> Table:
    """The table of that name."""
    own = _OWN.get(name.what, _by_clients)
    return own(results, name)


_OWN: Mapping[str, Callable[[Results, TableName], Table]] = {
    "claims": claims_table,
    "accuracy-by-round": by_round_table,
    "class-recall": by_class_table,
    "participation": participation_table,
    "contributions": contributions_table,
    "market": market_table,
    "market-stages": stages_table,
    "market-screening": screening_table,
    "free-riders": free_riders_table,
    "gaps": gaps_table,
}


def _by_clients(results: Results, name: TableName) -> Table:
    """A row per client count, a column per method."""
    spec, notes = results.spec, Notes()
    methods = results.methods(name.noise)
    of = ""
    if name.group:
        methods = [method for method in spec.groups[name.group].methods if method in methods]
        of = f", {spec.groups[name.group].title}"
    if name.what == "detection":
        methods = [method for method in methods if method != BASELINE]
    subject, cell = _content(results, name, notes)
    rows = [(str(clients), [cell(Key(name.noise, clients, method)) for method in methods]) for clients in spec.clients]
    title = f"{spec.title}{of}: {name.noise}, {subject}"
    return Table(name, spec.experiment, title, methods, rows, notes.list(), name.what != "reconstruction")


def _content(results: Results, name: TableName, notes: Notes) -> tuple[str, Callable[[Key], Cell]]:
    """What a table is about, and how its cells are filled."""
    if name.what == "detection":
        subject = "detection of noisy samples, mean over the rounds with selection"
        return subject, lambda key: _detection_cell(results, key, notes)
    if name.what == "reconstruction":
        return "reconstruction: PSNR and SSIM", lambda key: _reconstruction_cell(results, key, notes)
    slug, _, end = name.what.rpartition("-")
    metric = slug.replace("-", "_")
    at: At = "best" if end == "best" else "last"
    return f"{_METRICS[slug]} at the {_ROUNDS[end]}", lambda key: dict(_final_lines(results, key, metric, at, notes))


def _final_lines(results: Results, key: Key, metric: str, at: At, notes: Notes) -> Iterator[tuple[Kind, Line]]:
    group, seeds = results.group(key), results.spec.seeds
    absent = why(group, seeds)
    value, gain = results.value(key, metric, at), results.gain(key, metric, at)
    if value.ours is None:
        yield Kind.MEAN, Line(DASH, notes.mark(absent))
    else:
        yield Kind.MEAN, Line(interval(value.ours))
        if at == "last" and (mean := estimate(list(group.by_seed(metric, "last-10").values()))):
            yield Kind.LAST_10, Line(interval(mean))
        yield Kind.SEEDS, Line(count(value.ours.n, len(seeds)), notes.mark(absent))
        if gain and BASELINE in results.spec.methods:
            yield Kind.GAIN, _gain(gain.ours, value.ours.n, notes)
    yield from printed_lines(value, Kind.PAPER, Kind.VERDICT, results.notes(key, metric, at, "value"), notes)
    if gain:
        remarks = results.notes(key, metric, at, "gain over fedavg")
        yield from printed_lines(gain, Kind.PAPER_GAIN, Kind.GAIN_VERDICT, remarks, notes)


def _detection_cell(results: Results, key: Key, notes: Notes) -> Cell:
    group, seeds = results.group(key), results.spec.seeds
    found = {kind: group.detection(metric) for kind, metric in _DETECTION.items()}
    absent = why(group, seeds)
    counts = [ours.n for ours in found.values() if ours]
    if not counts:
        mark = notes.mark("; ".join(filter(None, ["no samples were selected" if group.runs else "", absent])))
        return {kind: Line(DASH, mark) for kind in found}
    cell = {kind: Line(interval(ours)) if ours else Line(DASH, notes.mark("undefined")) for kind, ours in found.items()}
    return cell | {Kind.SEEDS: Line(count(max(counts), len(seeds)), notes.mark(absent))}


def _reconstruction_cell(results: Results, key: Key, notes: Notes) -> Cell:
    group, seeds = results.group(key), results.spec.seeds
    found = {
        kind: (estimate(list(group.by_seed(metric, at).values())), digits)
        for kind, (metric, at, digits) in _RECONSTRUCTION.items()
    }
    absent = why(group, seeds)
    counts = [ours.n for ours, _ in found.values() if ours]
    if not counts:
        mark = notes.mark("; ".join(filter(None, ["no reconstructions" if group.runs else "", absent])))
        return {kind: Line(DASH, mark) for kind in found}
    cell = {kind: Line(plain(ours, digits) if ours else DASH) for kind, (ours, digits) in found.items()}
    return cell | {Kind.SEEDS: Line(count(max(counts), len(seeds)), notes.mark(absent))}


def _gain(ours: Estimate | None, n: int, notes: Notes) -> Line:
    if ours is None:
        return Line(DASH, notes.mark(f"no seed in common with {BASELINE}"))
    fewer = "" if ours.n == n else f"only the {ours.n} seeds that {BASELINE} has too"
    return Line(interval(ours, signed=True), notes.mark(fewer))
