"""What share of a round judging the hired takes, and its floor: `python benchmarks/leave_one_out.py`, on one core.

IAOFL at the paper's sizes (spec, 4 and 9): clients with 1,128 images of EMNIST Balanced, batches of 10, 5 epochs,
McMahan's CNN, 9,400 validation images. The floor of judging is the arithmetic of one forward pass a hired client and
one of all, at the rate of a matrix product. All figures are CPU times, the least of several turns in one process.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from fedsift import models
from fedsift.config.model import Training
from fedsift.methods.base import Method, Task, Update
from fedsift.training.average import Average
from fedsift.training.engine import ReferenceEngine, load
from fedsift.training.tensors import Samples
from fedsift.training.validation import ValidationLosses

CLASSES, CHUNK = 47, 1000
TRAINING = Training(epochs=5, batch_size=10, lr=0.01)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of ``work``."""
    began = time.process_time()
    work()
    return time.process_time() - began


def samples(hired: int, size: int, validation: int) -> Samples:
    """Random images; the arithmetic does not care."""
    rng = np.random.default_rng(0)

    def images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = rng.integers(0, 256, size=(count, 28, 28, 1)).astype(np.uint8)
        return torch.from_numpy(x), torch.from_numpy(rng.integers(CLASSES, size=count))

    (x, y), (x_val, y_val) = images(hired * size), images(validation)
    offsets = list(range(0, hired * size + 1, size))
    clean = torch.zeros(len(y), dtype=torch.bool)
    return Samples(x, y, offsets, [False] * hired, clean, x[:1], y[:1], x_val, y_val, 255.0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hired", type=int, default=3, help="what budget 256 buys a round, about")
    parser.add_argument("--size", type=int, default=1128, help="images of a client")
    parser.add_argument("--validation", type=int, default=9400, help="images")
    parser.add_argument("--turns", type=int, default=2)
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    model = models.build("cnn-mcmahan", CLASSES, 0).to(memory_format=torch.channels_last)
    own = samples(wanted.hired, wanted.size, wanted.validation)
    engine = ReferenceEngine(model, own, TRAINING, seed=0, chunk=CHUNK)
    method = Method(Method.Options(), Task(1, wanted.hired, CLASSES, 0, wanted.hired))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    updates: list[Update] = []
    passed = 0.0

    def train() -> None:
        updates.clear()
        for result in engine.local(0, range(wanted.hired), state, method):
            update = result.update
            updates.append(Update(update.client, {k: v.clone() for k, v in update.state.items()}, update.used))

    @torch.no_grad()
    def loss(of: dict[str, torch.Tensor]) -> float:
        nonlocal passed
        load(model, of)
        began = time.process_time()
        losses = engine.signals(own.images(own.x_val), own.y_val, frozenset({"losses"})).losses
        passed += time.process_time() - began
        return float(losses.double().sum(1).mean())

    def judge() -> None:
        losses = ValidationLosses(state, updates, loss)
        losses.of_all()
        for place in range(wanted.hired):
            losses.without(place)

    def average() -> None:
        total = Average()
        for update in updates:
            total.add(update.state, update.used)
        total.of(state)

    matrix = torch.rand(1024, 1024)
    least = dict.fromkeys(("product", "train", "average", "judge", "passes"), float("inf"))
    for _ in range(wanted.turns):
        least["product"] = min(least["product"], seconds(lambda: [matrix @ matrix for _ in range(20)]) / 20)
        least["train"] = min(least["train"], seconds(train))
        least["average"] = min(least["average"], seconds(average))
        passed = 0.0
        least["judge"] = min(least["judge"], seconds(judge))
        least["passes"] = min(least["passes"], passed)
    show(least, flop(model) * wanted.validation * (wanted.hired + 1), wanted)


@torch.no_grad()
def flop(model: torch.nn.Module) -> int:
    """Operations of one image's forward pass."""
    with FlopCounterMode(display=False) as counter:
        model(torch.rand(1, 28, 28, 1).permute(0, 3, 1, 2))
    return counter.get_total_flops()


def show(least: dict[str, float], needed: int, wanted: argparse.Namespace) -> None:
    """Print; ``needed``: operations of judging."""
    rate = 2 * 1024**3 / least["product"]
    floor = needed / rate
    whole = least["train"] + least["average"] + least["judge"]
    print(f"matrix product    {rate / 1e9:8.1f} GFLOP/s")
    print(f"local training    {least['train']:8.2f} s, {wanted.hired} clients with {wanted.size:,} images")
    print(f"averaging         {least['average']:8.2f} s")
    print(f"judging           {least['judge']:8.2f} s, {least['judge'] / whole:.0%} of the round")
    print(f"of which passes   {least['passes']:8.2f} s, {wanted.hired + 1} over {wanted.validation:,} images")
    print(f"floor of judging  {floor:8.2f} s; measured {least['judge'] / floor:.1f} times the floor")


if __name__ == "__main__":
    main()
