"""Methods that are plain FedAvg until a start round t_s (MTAE spec, 5.1)."""

from typing import Any

from pydantic import Field

from fedsift.methods.base import Method, Start, Step, Task, start_round


class StartOptions(Method.Options):
    """When selection begins."""

    start: Start = Field(0.4, description="t_s: first round of selection, or share of the rounds (0.4 is 400 of 1000).")


class FromStart(Method):
    """FedAvg before round ``t_s``."""

    Options = StartOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.t_s = start_round(options.start, task.rounds)

    @classmethod
    def lineage(cls, options: Any, rounds: int) -> list[Step]:
        """FedAvg until t_s."""
        return [Step("fedavg", {}, start_round(options.start, rounds))]

    def acts(self, round_: int) -> bool:
        """From t_s on."""
        return round_ >= self.t_s
