"""Selection by a detector that the server refits from the clients' vectors every few rounds (MTAE spec, 5.1)."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Evidence, Selection, Signals, Task
from fedsift.methods.from_start import FromStart, StartOptions
from fedsift.section import Round
from fedsift.selection.detectors import MIN_SAMPLES, Detector, Fit, thin
from fedsift.selection.vectors import LIMIT
from fedsift.training.streams import seed_of


class RefitOptions(StartOptions):
    """When the detector is fitted, and on how much."""

    refit_every: Round = Field(
        5, description="The detector is fitted at t_s and then in every round r with r mod this = 0."
    )
    trains_at_start: bool = Field(
        True,
        description="Whether clients train in round t_s, where the first detector is fitted; the authors' code does "
        "not.",
    )
    fit_cap: int = Field(
        10_000, ge=MIN_SAMPLES, description="At most as many vectors are fitted, drawn at random; keeps the SVM finite."
    )


class DetectorOptions(RefitOptions):
    """Options of a detector that is told the share of outliers."""

    contamination: Annotated[float, Field(gt=0, le=0.5)] = Field(
        0.4, description="Share of outliers that the detector assumes (nu of the SVM)."
    )


class RefittedDetector(FromStart):
    """r = t_s: collect and fit; r > t_s: score all samples with the fresh model, drop outliers, train on the rest."""

    Options: type[RefitOptions] = DetectorOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.detector: Detector | None = None
        self.fitted_on = np.empty((0, 0))
        self.fitted_at = -1

    def fit(self) -> Fit:
        """How the detector is fitted."""
        raise AssertionError("a refitted detector says how it is fitted")

    def vectors(self, signals: Signals) -> np.ndarray:
        """The points [n, d] that the detector works on."""
        raise AssertionError("a refitted detector says what it works on")

    def points(self, client: Client, signals: Signals) -> np.ndarray:
        """The same for a detector that looks at the labels too."""
        return self.vectors(signals)

    def refits(self, round_: int) -> bool:
        """Whether clients upload their vectors in this round."""
        return round_ == self.t_s or round_ % self.options.refit_every == 0

    def trains(self, round_: int) -> bool:
        """Round t_s may be for collecting alone."""
        return round_ > self.t_s or bool(self.options.trains_at_start)

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Drop what the detector calls an outlier; upload the vectors of all samples, dropped ones too."""
        v = self.points(client, signals)
        upload = {"vectors": v} if self.refits(round_) else {}
        if self.detector is None:
            return Selection(upload=upload)
        decision = self.detector.decision_function(v)
        return Selection(keep=decision >= 0, suspicion=-decision, upload=upload)

    def observe(self, round_: int, evidence: Evidence) -> None:
        """Fit on the vectors of this round's clients; no history is kept."""
        if not self.refits(round_) or not evidence.uploads:
            return
        seed = seed_of(self.task.seed, "detector", round_)
        v = np.concatenate([upload["vectors"] for upload in evidence.uploads])
        # A value that stands for "not finite" would stretch the kernel until every other sample looks like an outlier.
        v = thin(v[(np.abs(v) < LIMIT).all(axis=1)], self.options.fit_cap, seed)
        if len(v) >= MIN_SAMPLES:
            self._fit(v, round_)

    def _fit(self, v: np.ndarray, round_: int) -> None:
        self.fitted_on, self.fitted_at = v, round_
        self.detector = self.fit()(v, seed_of(self.task.seed, "detector", round_))

    def state_dict(self) -> dict[str, np.ndarray]:
        """The vectors and the round of the last fit: fitting again gives the same detector, without a pickle."""
        if self.detector is None:
            return {}
        return {"fitted_on": self.fitted_on, "fitted_at": np.array(self.fitted_at)}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Fit again on the saved vectors."""
        if "fitted_on" in state:
            self._fit(state["fitted_on"], int(state["fitted_at"]))
