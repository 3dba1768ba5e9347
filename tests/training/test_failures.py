import json
from pathlib import Path

import pytest
import torch

from fedsift.errors import FedsiftError
from fedsift.training import failures
from fedsift.training.failures import noted, reason


def test_different_failures_have_different_sentences() -> None:
    """SPE#327: only FAILED, never why."""
    missing = FileNotFoundError(2, "No such file or directory", "data.safetensors")
    errors = [MemoryError(), missing, FedsiftError("x.json: do this."), KeyboardInterrupt(), ZeroDivisionError("1 / 0")]
    sentences = [reason(error) for error in errors]
    assert len(set(sentences)) == len(errors)
    assert "data.safetensors: No such file or directory" in sentences[1]
    assert sentences[2] == "x.json: do this."
    assert "ZeroDivisionError: 1 / 0" in sentences[4]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: you tried ..."),
    ],
)
def test_all_kinds_of_too_little_memory(error: BaseException) -> None:
    assert reason(error).startswith("out of memory;")


def test_reason_is_noted_and_the_error_goes_on(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="why"), noted("runs/a@4", "logs/a.log", tmp_path):
        raise FedsiftError("why")
    note = tmp_path / "runs/a@4/failure.json"
    assert json.loads(note.read_text()) == {"reason": "why", "log": "logs/a.log"}
    with noted("runs/a@4", "logs/a.log", tmp_path):
        pass
    assert not note.exists()


def test_full_disk_does_not_hide_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failures, "write_text", full)
    with pytest.raises(FedsiftError, match="why"), noted("runs/a@4", "", tmp_path):
        raise FedsiftError("why")
