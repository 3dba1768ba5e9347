import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedsift.emd.weights import weight_emd

VALUES = st.lists(st.floats(-10, 10, width=32), min_size=6, max_size=6)


def state(values: list[float]) -> dict[str, torch.Tensor]:
    w = torch.tensor(values)
    return {"w": w[:4].reshape(2, 2), "b": w[4:], "steps": torch.tensor(7)}


@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_equals_the_distance_of_sorted_weights(models: list[list[float]], data: st.DataObject) -> None:
    """Equally many weights: the optimal transport in one dimension matches them in their order."""
    sizes = [data.draw(st.integers(1, 600)) for _ in models]
    whole = np.average(np.array(models), axis=0, weights=sizes)
    expected = [np.abs(np.sort(values) - np.sort(whole)).mean() for values in models]
    assert weight_emd([state(values) for values in models], sizes) == pytest.approx(np.array(expected), abs=1e-5)


def test_who_did_not_train_counts_for_nothing_in_the_average() -> None:
    got = weight_emd([state([1.0] * 6), state([4.0] * 6)], [600, 0])
    assert got.tolist() == [0.0, 3.0]
