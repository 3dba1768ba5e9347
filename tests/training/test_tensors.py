from pathlib import Path

import numpy as np
import pytest
import torch
from training.tiny import CPU, FREE_RIDER, SIZES, samples_of, spec_of

from fedsift.data.clients import load_federation
from fedsift.training.tensors import Samples


def test_images_are_shares_of_white_with_channels_last() -> None:
    samples = samples_of([3], (4, 5, 3))
    images = samples.images(samples.x)
    assert images.shape == (3, 3, 4, 5)
    assert images.is_contiguous(memory_format=torch.channels_last)
    expected = samples.x.numpy().astype(np.float32).transpose(0, 3, 1, 2) / np.float32(255)
    np.testing.assert_array_equal(images.numpy(), expected)


def test_takes_over_the_federation(world: Path) -> None:
    data, truth = load_federation(spec_of())
    samples = Samples.of(data, truth, CPU)
    assert [samples.rows(client) for client in range(len(SIZES))] == [data.rows(client) for client in range(len(SIZES))]
    assert samples.free_rider == [client == FREE_RIDER for client in range(len(SIZES))]
    assert samples.images(samples.x).max() == 1  # digits are brightest at 16
    assert samples.noisy.sum() == sum(SIZES) // 4
    np.testing.assert_array_equal(samples.y.numpy(), data.y)
    np.testing.assert_array_equal(samples.x_test.numpy(), data.x_test)


@pytest.mark.parametrize(("share", "aside"), [(0.5, 10), (0.29, 5), (0.01, 1), (0.99, 19)])
def test_a_share_of_the_test_set_is_set_aside(world: Path, share: float, aside: int) -> None:
    """Both parts together are the test set; another run sets the same images aside."""
    data, truth = load_federation(spec_of())
    samples, again = (Samples.of(data, truth, CPU, share) for _ in range(2))
    assert len(samples.y_val) == aside
    assert torch.equal(samples.x_val, again.x_val)
    parts = torch.cat([samples.x_val, samples.x_test]).flatten(1).tolist()
    assert sorted(parts) == sorted(torch.from_numpy(data.x_test).flatten(1).tolist())
    whole = Samples.of(data, truth, CPU)
    assert torch.equal(whole.x_val, whole.x_test)
