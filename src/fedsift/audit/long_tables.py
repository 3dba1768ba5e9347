"""The tables at full precision, computed again from the histories."""

from collections.abc import Callable, Mapping, Sequence

from fedsift.audit.estimates import Estimate, estimate
from fedsift.audit.figures import BASELINE, Figures, Key
from fedsift.audit.histories import DETECTION, History
from fedsift.audit.papers import Papers
from fedsift.audit.sheet import Row, Tally, keyed

SHARES = ("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall")
REBUILT = ("psnr", "ssim")
METRICS = (*SHARES, "loss", "cross_entropy", "mse", *REBUILT)
ATS = ("best", "last", "last-10")
QUANTITIES = (
    *("clients_per_round", "averaged_per_round", "refused_share"),
    *("models_received", "models_sent", "weight_divergence"),
)

Check = Callable[[Tally, list[Row], Figures, Papers], None]


def cells(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`cells.csv`: means, intervals and gains, and what they are from the paper's."""
    wanted = []
    for key in figures.grid():
        rebuilt = any(figures.by_seed(other, name, "last") for name in REBUILT for other in _noise(figures, key.noise))
        metrics = SHARES + (REBUILT if rebuilt else ())
        wanted += [(*_texts(key), metric, at) for metric in metrics for at in ATS]
        wanted += [(*_texts(key), metric, "selection") for metric in DETECTION]
    places = keyed(tally, found, ("noise", "clients", "method", "metric", "at"), wanted)
    for place in wanted:
        if (row := places.get(place)) is None:
            continue
        where, (_, _, _, metric, at) = "/".join(place), place
        key = Key(place[0], int(place[1]), place[2])
        if at == "selection":
            tally.interval(where, row, figures.detection(key, metric))
            continue
        ours, gain = figures.value(key, metric, at), figures.gain(key, metric, at)
        tally.interval(where, row, ours)
        papers.compare(tally, where, row, (key, metric, at, "value"), ours)
        if key.method != BASELINE:
            tally.interval(where, row, gain, "gain_", "gain")
            papers.compare(tally, where, row, (key, metric, at, "gain over fedavg"), gain)


def runs(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`runs.csv`: what each run came to, and its phases."""
    cells = {(*_texts(Key(cell.noise, cell.clients, cell.method)), str(cell.seed)): cell for cell in figures.spec.cells}
    places = keyed(tally, found, ("noise", "clients", "method", "seed"), list(cells))
    for place, cell in cells.items():
        if (row := places.get(place)) is None:
            continue
        where = "/".join(place[:3]) + f" seed {place[3]}"
        tally.words(f"{where} phases", row.get("phases", ""), ";".join(cell.phases))
        run = figures.of(Key(cell.noise, cell.clients, cell.method)).get(cell.seed)
        if (row.get("status") == "done") != (run is not None):
            tally.wrong(f"{where} status", "a run that is done" if run else "a run that is not", row.get("status", ""))
        if run is not None:
            for name, value in _run(run).items():
                tally.number(f"{where} {name}", row.get(name, ""), value)


def _run(run: History) -> dict[str, float | None]:
    values: dict[str, float | None] = {
        "evaluations": len(run.tested),
        "best_round": run.best,
        "last_round": run.tested[-1],
        "selection_start": run.selecting[0] if run.selecting else None,
        "selection_rounds": len(run.selecting),
    }
    values |= {f"{at}_{metric}": run.final(metric, at) for at in ATS for metric in METRICS}
    values |= {name: run.over_rounds(name) for name in DETECTION}
    return values | {name: run.participation(name) for name in QUANTITIES}


def rounds(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`rounds.csv`: the accuracy after so many rounds."""
    wanted = [
        (*_texts(key), str(after)) for key in figures.grid() for after in figures.evaluations(key.noise, key.clients)
    ]
    places = keyed(tally, found, ("noise", "clients", "method", "after_rounds"), wanted)
    for place in wanted:
        if row := places.get(place):
            key = Key(place[0], int(place[1]), place[2])
            ours = figures.value(key, "accuracy", place[3])
            tally.interval("/".join(place), row, ours)
            papers.compare(tally, "/".join(place), row, (key, "accuracy", place[3], "value"), ours)


def classes(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`classes.csv`: the recall of each class."""
    sizes = {noise: class_count(figures, noise) for noise in figures.spec.noises}
    wanted = [(*_texts(key), str(label)) for key in figures.grid() for label in range(sizes[key.noise])]
    _estimates(tally, found, "class", wanted, lambda key, label: figures.recall(key, int(label)))


def participation(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`participation.csv`: who trained and was averaged; nothing of a noise of which there is nothing to tell."""
    telling = {noise for noise in figures.spec.noises if _tells(figures, noise)}
    wanted = [(*_texts(key), name) for key in figures.grid() if key.noise in telling for name in QUANTITIES]
    _estimates(tally, found, "quantity", wanted, figures.participation)


def claims(tally: Tally, found: list[Row], figures: Figures, papers: Papers) -> None:
    """`claims.csv`: the differences that claims are about, and their verdicts."""
    for row in found:
        key = Key(row["noise"], int(row["clients"]), row["method"])
        where = f"{row['noise']}/{row['clients']}: {row['claim']}"
        ours = figures.by_seed(key, row["metric"], row["at"])
        if row["against"]:
            other = figures.by_seed(key._replace(method=row["against"]), row["metric"], row["against_at"] or row["at"])
        else:
            other = dict.fromkeys(ours, float(row["value"]))
        differences = {seed: ours[seed] - other[seed] for seed in ours if seed in other}
        pairs = [part.partition(":") for part in row["by_seed"].split()]
        tally.words(f"{where} seeds", " ".join(seed for seed, _, _ in pairs), " ".join(map(str, differences)))
        for (seed, _, text), value in zip(pairs, differences.values(), strict=False):
            tally.number(f"{where} seed {seed}", text, value)
        result = estimate(differences)
        tally.interval(where, row, result)
        tally.words(f"{where} verdict", row["verdict"], papers.judge(result, row["kind"]))


def class_count(figures: Figures, noise: str) -> int:
    """How many classes the histories of a noise tell of."""
    found = (run for key in _noise(figures, noise) for run in figures.of(key).values())
    return max((len(run.classes) for run in found), default=0)


def _estimates(
    tally: Tally,
    found: list[Row],
    last: str,
    wanted: Sequence[tuple[str, ...]],
    ours: Callable[[Key, str], Estimate | None],
) -> None:
    places = keyed(tally, found, ("noise", "clients", "method", last), wanted)
    for place in wanted:
        if row := places.get(place):
            tally.interval("/".join(place), row, ours(Key(place[0], int(place[1]), place[2]), place[3]))


def _tells(figures: Figures, noise: str) -> bool:
    found = [run for key in _noise(figures, noise) for run in figures.of(key).values()]
    return any(
        run.columns["averaged"] != run.columns["clients"] or run.over_rounds("weight_divergence") is not None
        for run in found
    )


def _noise(figures: Figures, noise: str) -> list[Key]:
    return [key for key in figures.runs if key.noise == noise]


def _texts(key: Key) -> tuple[str, str, str]:
    return key.noise, str(key.clients), key.method


CHECKS: Mapping[str, Check] = {
    "cells.csv": cells,
    "runs.csv": runs,
    "rounds.csv": rounds,
    "classes.csv": classes,
    "participation.csv": participation,
    "claims.csv": claims,
}
"""By file. The others are made of journals and contributions, which the audit does not compute again."""
