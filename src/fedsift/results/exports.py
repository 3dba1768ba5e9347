"""`cells.csv` and `runs.csv`: every number at full precision, with where it comes from."""

from typing import get_args

from fedsift.results.collect import Key, Results, reconstructs
from fedsift.results.long import Value, interval, printed, text
from fedsift.results.participation import QUANTITIES
from fedsift.results.reference import Quantity
from fedsift.results.runs import ATS, DETECTION, METRICS, RECONSTRUCTION, SHARES, At, Run

SELECTION = "selection"
"""`at` of the detection figures: the mean over the rounds with selection."""

CELL_COLUMNS = (
    *("noise", "clients", "method", "metric", "at", "mean", "low", "high", "n"),
    *("paper", "paper_source", "difference", "verdict"),
    *("gain", "gain_low", "gain_high", "gain_n"),
    *("paper_gain", "paper_gain_source", "gain_difference", "gain_verdict", "note", "missing"),
)
RUN_COLUMNS = (
    *("noise", "clients", "method", "seed", "status", "reason"),
    *("evaluations", "best_round", "last_round"),
    *(f"{at}_{metric}" for at in ATS for metric in METRICS),
    *("selection_start", "selection_rounds", *DETECTION, *QUANTITIES, "phases"),
)


def cells_csv(results: Results) -> str:
    """One row per noise, client count, method, metric and `at`; shares and differences of shares, the PSNR in dB.

    PSNR and SSIM are there only where a run has reconstructions.
    `missing` names every seed without a run and why; `note` holds what is inconsistent in the paper.
    """
    rows: list[dict[str, Value]] = []
    rebuilt = {noise for noise in results.spec.noises if reconstructs(results, noise)}
    for key in results.grid():
        missing = "; ".join(f"seed {seed}: {why.reason}" for seed, why in results.group(key).missing.items())
        common: dict[str, Value] = {**key._asdict(), "missing": missing}
        metrics = SHARES + (RECONSTRUCTION if key.noise in rebuilt else ())
        rows += [common | _compared(results, key, metric, at) for metric in metrics for at in ATS]
        for metric in DETECTION:
            ours = results.group(key).detection(metric)
            rows.append(common | {"metric": metric, "at": SELECTION, **interval(ours)})
    return text(CELL_COLUMNS, rows)


def runs_csv(results: Results) -> str:
    """One row per run with all its final figures (as in the histories) and its phases' folders, `;` between them."""
    cells = results.spec.cells
    phases = {(Key(cell.noise, cell.clients, cell.method), cell.seed): cell.phases for cell in cells}
    rows: list[dict[str, Value]] = []
    for key in results.grid():
        group = results.group(key)
        for seed in sorted(group.runs.keys() | group.missing.keys()):
            row: dict[str, Value] = {**key._asdict(), "seed": seed, "phases": ";".join(phases[key, seed])}
            if seed in group.runs:
                row |= _run(group.runs[seed])
            else:
                row |= {"status": group.missing[seed].kind, "reason": group.missing[seed].reason}
            rows.append(row)
    return text(RUN_COLUMNS, rows)


def _run(run: Run) -> dict[str, Value]:
    return {
        "status": "done",
        "evaluations": len(run.evaluated),
        "best_round": run.best_round,
        "last_round": run.last_round,
        **{f"{at}_{metric}": run.final(metric, at) for at in ATS for metric in METRICS},
        "selection_start": int(run.selecting[0]) if len(run.selecting) else None,
        "selection_rounds": len(run.selecting),
        **{metric: run.detection(metric) for metric in DETECTION},
        **{name: of(run) for name, of in QUANTITIES.items()},
    }


def _compared(results: Results, key: Key, metric: str, at: At) -> dict[str, Value]:
    value, gain = results.value(key, metric, at), results.gain(key, metric, at)
    row: dict[str, Value] = {
        "metric": metric,
        "at": at,
        **interval(value.ours),
        **printed(value),
    }
    if gain is not None:
        row |= interval(gain.ours, "gain_") | printed(gain, "paper_gain", "gain_")
        row["gain"] = row.pop("gain_mean", None)
    row["note"] = " ".join(note for quantity in get_args(Quantity) for note in results.notes(key, metric, at, quantity))
    return row
