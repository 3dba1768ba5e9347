import pytest
import torch

from fedsift.errors import FedsiftError
from fedsift.training.device import choose


@pytest.mark.parametrize("wanted", ["auto", "cpu"])
def test_cpu_with_one_thread(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose(wanted) == torch.device("cpu")
    assert torch.get_num_threads() == 1


def test_refuses_to_crawl_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPE#324: the GPU request is ignored and the job lands on a CPU node."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(FedsiftError, match="no GPU; check the job's GPU request"):
        choose("cuda")


def test_cpu_stays_cpu_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose("cpu") == torch.device("cpu")
