"""`fedsift plan`: what a run consists of, before it starts."""

import json
from dataclasses import asdict, dataclass
from math import prod

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fedsift.models.info import MODELS
from fedsift.specs import TableSpec, TrainSpec
from fedsift.workflow import Plan


@dataclass(frozen=True)
class Row:
    """One experiment of a plan.

    Attributes:
        rounds_alone: rounds if every cell were trained by itself.
        rounds: rounds that are trained, with shared prefixes.
        bytes: of all checkpoints, from the sizes of the models.
    """

    experiment: str
    cells: int
    phases: int
    rounds_alone: int
    rounds: int
    bytes: int

    @property
    def saved(self) -> float:
        """Share of the rounds that sharing saves."""
        return 1 - self.rounds / self.rounds_alone if self.rounds_alone else 0.0


def rows(plan: Plan) -> list[Row]:
    """One row an experiment."""
    return [_row(plan, table) for table in plan.grid.tables.values()]


def _row(plan: Plan, table: TableSpec) -> Row:
    names = {phase for cell in table.cells for phase in cell.phases}
    phases = [plan.grid.phases[name] for name in names]
    return Row(
        experiment=table.experiment,
        cells=len(table.cells),
        phases=len(phases),
        rounds_alone=len(table.cells) * table.rounds,
        rounds=sum(phase.stop - phase.start for phase in phases),
        bytes=len(phases) * 4 * MODELS[table.model].parameters,
    )


def data_bytes(plan: Plan) -> int:
    """Size of the prepared arrays of all data sets, one byte a value and four a label."""
    sets = [plan.sets[name] for name in plan.grid.datasets]
    return sum((known.train + known.test) * (prod(known.shape) + 4) for known in sets)


def show(plan: Plan, phases: bool, as_json: bool) -> None:
    """Print the plan."""
    made = rows(plan)
    if as_json:
        note = {
            "scale": plan.config.scale,
            "experiments": [asdict(row) | {"saved": row.saved} for row in made],
            "data_bytes": data_bytes(plan),
            "phases": [_phase(spec) for spec in plan.grid.phases.values()],
        }
        print(json.dumps(note, indent=1))
        return
    console = Console()
    sheet = Table(
        title=f"Scale {plan.config.scale}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    # Long names wrap; nothing is ever cut off, whatever the width.
    sheet.add_column("experiment", overflow="fold")
    for column in ("cells", "phases", "rounds\nalone", "rounds\nshared", "saved", "check-\npoints"):
        sheet.add_column(column, justify="right", no_wrap=True)
    for row in made:
        sheet.add_row(*_words(row))
    if len(made) > 1:
        sheet.add_section()
        sheet.add_row(*_words(total(made)))
    console.print(sheet)
    console.print(f"data: {', '.join(sorted(plan.grid.datasets))} ({size(data_bytes(plan))} prepared)")
    if phases:
        for spec in plan.grid.phases.values():
            console.print(f"{spec.start:>5} - {spec.stop:<5} {spec.phase}", soft_wrap=True, highlight=False)


def total(made: list[Row]) -> Row:
    """All experiments together."""
    fields = ("cells", "phases", "rounds_alone", "rounds", "bytes")
    return Row("all", *(sum(getattr(row, field) for row in made) for field in fields))


def _words(row: Row) -> list[str]:
    numbers = [f"{value:,}" for value in (row.cells, row.phases, row.rounds_alone, row.rounds)]
    return [row.experiment, *numbers, f"{row.saved:.0%}", size(row.bytes)]


def _phase(spec: TrainSpec) -> dict[str, object]:
    return {"phase": spec.phase, "start": spec.start, "stop": spec.stop, "parent": spec.parent}


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
