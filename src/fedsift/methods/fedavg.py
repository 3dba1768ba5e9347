"""FedAvg: no selection, the baseline of every table (McMahan et al. 2017)."""

from fedsift.methods.base import Method


class FedAvg(Method):
    """All defaults."""


METHOD = FedAvg
