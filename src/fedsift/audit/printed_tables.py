"""The tables for people, `tables/*.csv`: each rounded number against the runs."""

from collections.abc import Callable, Iterator
from pathlib import Path

from fedsift.audit.estimates import Estimate
from fedsift.audit.figures import BASELINE, Figures, Key
from fedsift.audit.papers import Papers
from fedsift.audit.sheet import NotHere, Tally, table
from fedsift.results.files import FINALS, TableName

_DETECTION = {"precision": "detection_precision", "recall": "detection_recall", "AUC": "detection_auc"}
_REBUILT = {
    f"{name} {round_} round": (metric, round_)
    for name, metric in (("PSNR (dB),", "psnr"), ("SSIM,", "ssim"))
    for round_ in ("best", "last")
}
_PARTICIPATION = {
    "trained per round": "clients_per_round",
    "averaged per round": "averaged_per_round",
    "refused (q_t / m), %": "refused_share",
    "models received": "models_received",
    "models sent": "models_sent",
    "weight divergence": "weight_divergence",
}

Line = tuple[str, str, dict[str, str]]
"""Row, kind of line, and texts by column."""


def check(tally: Tally, path: Path, name: TableName, figures: Figures, papers: Papers) -> None:
    """Compare every number of a table that the runs determine.

    Raises:
        NotHere: the file is not there, or no CSV.
    """
    lines = list(_lines(path))
    if name.what in FINALS:
        _finals(tally, lines, name, figures, papers)
    elif name.what in ("detection", "reconstruction"):
        _by_clients(tally, lines, name, figures)
    elif name.what == "accuracy-by-round":
        _by_round(tally, lines, name, figures, papers)
    elif name.what == "class-recall":
        _by_method(tally, lines, name, figures, lambda key, head: (figures.recall(key, int(head.split()[1])), 100))
    elif name.what == "participation":
        _by_method(tally, lines, name, figures, lambda key, head: _quantity(figures, key, head))
    else:
        tally.skipped = "the audit has no second code for this table"


def _lines(path: Path) -> Iterator[Line]:
    head, *rest = table(path)
    for line in rest:
        if line and line[0] == "note":
            continue
        if len(line) != len(head):
            raise NotHere("a line is not as long as the first")
        yield line[0], line[1], dict(zip(head[2:], line[2:], strict=True))


def _finals(tally: Tally, lines: list[Line], name: TableName, figures: Figures, papers: Papers) -> None:
    """Accuracy or F1 at the best or last round: our lines and those beside the paper's."""
    slug, _, at = name.what.rpartition("-")
    metric = slug.replace("-", "_")
    seen = set()
    for row, kind, texts in lines:
        for method, text in texts.items():
            key = Key(name.noise, int(row), method)
            where = f"{row} {method} {kind}"
            seen.add((key, kind))
            ours, gain = figures.value(key, metric, at), figures.gain(key, metric, at)
            match kind:
                case "mean ± 95 %":
                    tally.printed(where, text, _percent(ours))
                # Tables that are published already bear the second name.
                case "mean of up to 10 last evaluations" | "mean of the last 10 evaluations":
                    tally.printed(where, text, _percent(figures.value(key, metric, "last-10") if ours else None))
                case "seeds":
                    _seeds(tally, where, text, ours.n if ours else 0, len(figures.spec.seeds))
                case "gain over fedavg":
                    tally.printed(where, text, _percent(gain if ours and key.method != BASELINE else None))
                case _:
                    _beside(tally, where, kind, text, papers, (key, metric, at), (ours, gain))
    for clients in figures.spec.clients:
        for key in (key for key in figures.runs if (key.noise, key.clients) == (name.noise, clients)):
            grouped = not name.group or key.method in figures.spec.groups[name.group].methods
            if grouped and (key, "mean ± 95 %") not in seen:
                tally.wrong(f"{clients} {key.method}", "a mean", "no cell")


def _beside(
    tally: Tally,
    where: str,
    kind: str,
    text: str,
    papers: Papers,
    place: tuple[Key, str, str],
    ours: tuple[Estimate | None, Estimate | None],
) -> None:
    """The lines about the paper's number."""
    gain = kind in ("paper's gain (our difference)", "verdict on the gain")
    value = papers.value((*place, "gain over fedavg" if gain else "value"))
    mean = ours[1] if gain else ours[0]
    difference = None if mean is None or value is None else mean.mean - value
    if not papers.known:
        tally.skipped = "the papers' numbers: the reference values are not here"
    elif kind.startswith("verdict"):
        tally.words(where, text, papers.verdict(value, difference) if value is not None else "")
    else:
        numbers = [None if one is None else 100 * one for one in (value, difference)]
        tally.printed(where, text, numbers)


def _by_clients(tally: Tally, lines: list[Line], name: TableName, figures: Figures) -> None:
    """Detection and reconstruction."""
    for row, kind, texts in lines:
        for method, text in texts.items():
            key, where = Key(name.noise, int(row), method), f"{row} {method} {kind}"
            if kind in _DETECTION:
                tally.printed(where, text, _percent(figures.detection(key, _DETECTION[kind])))
            elif kind in _REBUILT:
                metric, at = _REBUILT[kind]
                tally.printed(where, text, _percent(figures.value(key, metric, at), 1))
            elif name.what == "detection":
                found = [figures.detection(key, metric) for metric in _DETECTION.values()]
                _seeds(tally, where, text, max((one.n for one in found if one), default=0), len(figures.spec.seeds))
            else:
                found = [figures.value(key, metric, at) for metric, at in _REBUILT.values()]
                _seeds(tally, where, text, max((one.n for one in found if one), default=0), len(figures.spec.seeds))


def _by_round(tally: Tally, lines: list[Line], name: TableName, figures: Figures, papers: Papers) -> None:
    """The accuracy after so many rounds."""
    for method, kind, texts in lines:
        key = Key(name.noise, name.clients or 0, method)
        for after, text in texts.items():
            where = f"{method} {after} {kind}"
            if after == "seeds":
                if kind == "mean ± 95 %":
                    _seeds(tally, where, text, len(figures.of(key)), len(figures.spec.seeds))
                continue
            ours = figures.value(key, "accuracy", after)
            if kind == "mean ± 95 %":
                tally.printed(where, text, _percent(ours))
            else:
                _beside(tally, where, kind, text, papers, (key, "accuracy", after), (ours, None))


def _by_method(
    tally: Tally,
    lines: list[Line],
    name: TableName,
    figures: Figures,
    ours: Callable[[Key, str], tuple[Estimate | None, float]],
) -> None:
    """A row per method, a column per quantity, and the seeds; ``ours`` gives an estimate and the unit of the column."""
    for method, kind, texts in lines:
        key = Key(name.noise, name.clients or 0, method)
        for head, text in texts.items():
            if head == "seeds":
                _seeds(tally, f"{method} {head}", text, len(figures.of(key)), len(figures.spec.seeds))
            else:
                tally.printed(f"{method} {head} {kind}", text, _percent(*ours(key, head)))


def _quantity(figures: Figures, key: Key, head: str) -> tuple[Estimate | None, float]:
    name = _PARTICIPATION[head]
    return figures.participation(key, name), 100 if name == "refused_share" else 1


def _seeds(tally: Tally, where: str, text: str, n: int, of: int) -> None:
    """`5`, or `3 of 5`; nothing where there is no mean."""
    wanted: list[float | None] = [n] if n == of else [n, of]
    tally.printed(where, text, wanted if text else [] if n == 0 else wanted)


def _percent(ours: Estimate | None, scale: float = 100) -> list[float | None]:
    if ours is None:
        return []
    return [scale * ours.mean, None if ours.half is None else scale * ours.half]
