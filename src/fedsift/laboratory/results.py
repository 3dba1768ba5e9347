"""The files of an experiment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedsift.files import write_text
from fedsift.laboratory.contenders import Contender
from fedsift.laboratory.figures import Offline, figures, stage_columns
from fedsift.laboratory.files import write_csv
from fedsift.laboratory.lies import Lie
from fedsift.laboratory.play import Played
from fedsift.laboratory.promises import Promises, promises
from fedsift.laboratory.truthfulness import GAIN, Probe
from fedsift.laboratory.words import LIMITS_OF_THE_AUDIT, of_lies, of_probes, of_promises
from fedsift.market.log import BidLog
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender

OWN = (
    *("bids.csv", "hires.csv", "rounds.csv", "stages.csv", "summary.csv", "summary.json", "audit.csv", "lies.csv"),
    *(f"{plot}.{form}" for plot in ("spend", "hires", "prices", "thresholds", "lies") for form in ("svg", "png")),
)
"""All names that the laboratory writes; what an earlier experiment left under them is removed."""


@dataclass
class Experiment:
    """One log, the mechanisms that were run on it, and what was found of each, in the same order.

    Attributes:
        tender: of the run.
        seed: of everything that was drawn.
        source: where the log comes from.
        log: all bids.
        played: of each mechanism.
        probes: of each mechanism; empty without an audit.
        lies: of each mechanism; empty without the experiment.
    """

    tender: Tender
    seed: int
    source: Mapping[str, object]
    log: BidLog
    played: list[Played] = field(default_factory=list)
    probes: list[list[Probe]] = field(default_factory=list)
    lies: list[list[Lie]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stages = Stages.of(self.tender.T, self.tender.B)
        self.offline = Offline.of(self.log, self.tender.B)

    @property
    def names(self) -> list[str]:
        """Of the mechanisms."""
        return [one.contender.name for one in self.played]

    def figures(self) -> list[dict[str, Any]]:
        """The rows of `summary.csv`."""
        return [
            {
                "mechanism": one.contender.name,
                **figures(one, self.log, self.offline),
                **{f"spend_stage_{l}": float(spent) for l, spent in enumerate(self._stage(one)["spent"], 1)},
            }
            for one in self.played
        ]

    def promises(self) -> list[Promises]:
        """What holds of all hires."""
        return [promises(one, self.log, self.tender) for one in self.played]

    def sentences(self) -> list[str]:
        """Findings in words."""
        said = [of_promises(name, found) for name, found in zip(self.names, self.promises(), strict=True)]
        said += [of_probes(name, found) for name, found in zip(self.names, self.probes, strict=False)]
        said += [LIMITS_OF_THE_AUDIT] if self.probes else []
        return said + [of_lies(name, found) for name, found in zip(self.names, self.lies, strict=False)]

    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return {
            "rounds": self.tender.T,
            "budget": self.tender.B,
            "clients": self.tender.N,
            "bids": len(self.log),
            "seed": self.seed,
            "log": dict(self.source),
            "mechanisms": [self._about(place) for place in range(len(self.played))],
            "findings": self.sentences(),
        }

    def _about(self, place: int) -> dict[str, Any]:
        one = self.played[place]
        contender: Contender = one.contender
        row = figures(one, self.log, self.offline)
        about: dict[str, Any] = {
            "name": contender.name,
            "mechanism": contender.mechanism,
            "options": contender.options.model_dump(mode="json"),
            "figures": row,
            "stages": [dict(zip(self._stage(one), values, strict=True)) for values in self._stage_rows(one)],
            "promises": asdict(promises(one, self.log, self.tender)),
        }
        if self.probes:
            best = max(self.probes[place], key=lambda probe: probe.gain)
            paying = sum(probe.gain > GAIN for probe in self.probes[place])
            about["truthfulness"] = {
                "bidders": len(self.probes[place]),
                "with_a_paying_lie": paying,
                "best": asdict(best),
            }
        return about

    def _stage(self, one: Played) -> Mapping[str, Any]:
        return stage_columns(one, self.stages)

    def _stage_rows(self, one: Played) -> list[tuple[Any, ...]]:
        return list(zip(*(column.tolist() for column in self._stage(one).values()), strict=True))


def write_files(folder: Path, made: Experiment, plots: Sequence[str], log_file: Path | None) -> list[str]:
    """Write every table; gives the names of all files of the experiment, the ``plots``, which are there, among them.

    A log that was read from ``folder / 'bids.csv'`` stays as it is.
    """
    log = made.log
    tables: dict[str, Mapping[str, Any]] = {
        "bids.csv": {"t": log.t, "client": log.client, "b": log.b, "q": log.q},
        "hires.csv": _hires(made),
        "rounds.csv": _rounds(made),
        "stages.csv": _stacked(made, [stage_columns(one, made.stages) for one in made.played]),
        "summary.csv": _columns(made.figures()),
    }
    if made.probes:
        pairs = [(name, probe) for name, found in zip(made.names, made.probes, strict=True) for probe in found]
        tables["audit.csv"] = _columns([{"mechanism": name, **asdict(probe)} for name, probe in pairs])
    if made.lies:
        tables["lies.csv"] = _columns([asdict(lie) | {"gain": lie.gain} for found in made.lies for lie in found])
    for name, columns in tables.items():
        path = folder / name
        if not (log_file and path.exists() and path.samefile(log_file)):
            write_csv(path, columns)
    write_text(folder / "summary.json", json.dumps(made.summary(), indent=1) + "\n")
    there = [*tables, "summary.json", *plots]
    for name in set(OWN) - set(there):
        (folder / name).unlink(missing_ok=True)
    return there


def _hires(made: Experiment) -> Mapping[str, Any]:
    rows = np.concatenate([one.row for one in made.played])
    return {
        "mechanism": np.repeat(made.names, [len(one.row) for one in made.played]),
        **{name: getattr(made.log, name)[rows] for name in ("t", "client", "b", "q")},
        "price": np.concatenate([one.price for one in made.played]),
    }


def _rounds(made: Experiment) -> Mapping[str, Any]:
    T = made.tender.T
    lengths = np.diff([0, *made.stages.e])
    return _stacked(
        made,
        [
            {
                "t": np.arange(1, T + 1),
                "stage": np.repeat(np.arange(1, made.stages.L + 1), lengths),
                "bidders": one.bidders,
                "hired": one.hired,
                "spent": one.spent,
                "left": one.left,
                "threshold_low": one.low,
                "threshold_high": one.high,
                "reason": np.array([reason or "" for reason in one.reason]),
            }
            for one in made.played
        ],
    )


def _stacked(made: Experiment, tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Tables of all mechanisms one below the other, with the mechanism in front."""
    rows = len(next(iter(tables[0].values())))
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return {"mechanism": np.repeat(made.names, rows), **columns}


def _columns(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {name: [row[name] for row in rows] for name in rows[0]}
