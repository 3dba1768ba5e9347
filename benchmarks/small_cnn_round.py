"""How far a round of the small CNN is from its floor: `python benchmarks/small_cnn_round.py`, on one core.

10 clients with 600 samples each, batches of 10, 5 epochs: 3,000 steps a round (EMFedAvg spec, 6). The floor is the
arithmetic at the rate of a matrix product, plus the optimiser's update as often as there are steps. All figures are CPU
times, the least of several turns, measured in turn in one process, because these machines are shared.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from fedsift import models
from fedsift.config.model import Training
from fedsift.methods.base import Method, Task
from fedsift.training.engine import ReferenceEngine
from fedsift.training.objective import batch_loss
from fedsift.training.sgd import Sgd
from fedsift.training.tensors import Samples

CLIENTS, SIZE, BATCH, EPOCHS = 10, 600, 10, 5
STEPS = CLIENTS * SIZE // BATCH * EPOCHS
TRAINING = Training(epochs=EPOCHS, batch_size=BATCH, lr=0.01, momentum=0.5)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of ``work``."""
    began = time.process_time()
    work()
    return time.process_time() - began


def samples() -> Samples:
    """Random images; the arithmetic does not care."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 256, size=(CLIENTS * SIZE, 28, 28, 1)).astype(np.uint8))
    y = torch.from_numpy(rng.integers(10, size=CLIENTS * SIZE))
    offsets = list(range(0, CLIENTS * SIZE + 1, SIZE))
    return Samples(
        x, y, offsets, [False] * CLIENTS, torch.zeros(len(y), dtype=torch.bool), x[:1], y[:1], x[:1], y[:1], 255.0
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    torch.set_num_threads(1)
    model = models.build("cnn-small", 10, 0).to(memory_format=torch.channels_last)
    engine = ReferenceEngine(model, samples(), TRAINING, seed=0, chunk=1000)
    method = Method(Method.Options(), Task(1, CLIENTS, 10, 0, CLIENTS))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    x, y = torch.rand(BATCH, 28, 28, 1).permute(0, 3, 1, 2), torch.randint(10, (BATCH,))
    sgd = Sgd(model, TRAINING)

    def step(count: int) -> None:
        sgd.step(batch_loss(model(x[:count]), x[:count], y[:count], None))

    with FlopCounterMode(display=False) as counter:
        step(BATCH)
    flop = counter.get_total_flops()
    matrix = torch.rand(1024, 1024)
    gradients = [torch.zeros_like(w) for w in model.parameters()]

    def update() -> None:
        """What `Sgd.step` does beside differentiating: a loss with the known gradient 0."""
        sgd.step(torch.stack([(w * g).sum() for w, g in zip(model.parameters(), gradients, strict=True)]).sum())

    def differentiate() -> None:
        loss = torch.stack([(w * g).sum() for w, g in zip(model.parameters(), gradients, strict=True)]).sum()
        torch.autograd.grad(loss, list(model.parameters()))

    least = dict.fromkeys(("product", "update", "differentiate", "one", "round"), float("inf"))
    for _ in range(turns):
        work: dict[str, tuple[Callable[[], object], int]] = {
            "product": (lambda: matrix @ matrix, 20),
            "update": (update, 500),
            "differentiate": (differentiate, 500),
            "one": (lambda: step(1), 500),
            "round": (lambda: [0 for _ in engine.local(0, range(CLIENTS), state, method)], 1),
        }
        for name, (task, times) in work.items():
            least[name] = min(
                least[name], seconds(lambda task=task, times=times: [task() for _ in range(times)]) / times
            )
    rate = 2 * 1024**3 / least["product"]
    optimiser = max(0.0, least["update"] - least["differentiate"])
    arithmetic = flop * STEPS / rate
    floor = arithmetic + optimiser * STEPS
    dispatch = (least["one"] - flop / BATCH / rate - optimiser) * STEPS
    print(f"matrix product          {rate / 1e9:8.1f} GFLOP/s")
    print(f"a step                  {flop / 1e6:8.1f} MFLOP, {STEPS} steps a round")
    print(f"arithmetic              {arithmetic:8.2f} s a round")
    print(f"optimiser               {optimiser * STEPS:8.2f} s a round, {optimiser * 1e6:.0f} us a step")
    print(f"floor                   {floor:8.2f} s a round")
    print(f"measured                {least['round']:8.2f} s a round, {least['round'] / floor:.1f} times the floor")
    print(f"of which fixed cost     {dispatch:8.2f} s: a step of one sample takes {least['one'] * 1e6:.0f} us")


if __name__ == "__main__":
    main()
