"""Control: drop exactly the noisy samples. What a perfect detector would reach (MTAE spec, D18)."""

import numpy as np

from fedsift.methods.base import Client, Selection, Signals
from fedsift.methods.from_start import FromStart


class Oracle(FromStart):
    """Looks at the truth, as no method may."""

    sees_truth = True

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Keep the clean samples."""
        if client.noisy is None:
            raise AssertionError("the round loop gives the truth to methods that say sees_truth")
        noisy = client.noisy.cpu().numpy()
        return Selection(keep=~noisy, suspicion=noisy.astype(np.float64))


METHOD = Oracle
