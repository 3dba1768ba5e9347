import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from fedsift.errors import FedsiftError
from fedsift.training import checkpoint
from fedsift.training.checkpoint import Checkpoint, load, save

NOTE = {"key": "a b", "round": 4, "status": "ok", "history": [{"round": 3, "loss": 0.1 + 0.2, "accuracy": math.nan}]}


def example() -> Checkpoint:
    model = {
        "conv.weight": torch.rand(4, 3, 5, 5).to(memory_format=torch.channels_last),
        "bn.num_batches_tracked": torch.tensor(7),
        "w": torch.tensor([math.inf, math.nan, -0.0, 1e-45]),
    }
    method = {"ltr": np.array(0.3), "U": np.array([0.1, 0.2]), "fitted_on": np.empty((0, 2)), "n": np.array([1, 2])}
    return Checkpoint(model, method, NOTE)


def test_round_trip(tmp_path: Path) -> None:
    written = example()
    save(tmp_path / "c", written)
    read = load(tmp_path / "c")
    assert {name: value.dtype for name, value in read.model.items()} == {
        name: value.dtype for name, value in written.model.items()
    }
    for name, value in written.model.items():
        assert read.model[name].contiguous().numpy().tobytes() == value.contiguous().numpy().tobytes()
    assert read.method.keys() == written.method.keys()
    for name, array in written.method.items():
        np.testing.assert_array_equal(read.method[name], array)
        assert (read.method[name].dtype, read.method[name].shape) == (array.dtype, array.shape)
    assert json.dumps(read.note, sort_keys=True) == json.dumps(NOTE, sort_keys=True)


def test_equal_checkpoints_have_equal_bytes(tmp_path: Path) -> None:
    """Whatever the order of entries and the layout in memory."""
    first = example()
    other = Checkpoint(
        {name: value.contiguous() for name, value in reversed(first.model.items())},
        dict(reversed(first.method.items())),
        dict(reversed(first.note.items())),
    )
    save(tmp_path / "a", first)
    save(tmp_path / "b", other)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_one_bit_more_gives_other_bytes(tmp_path: Path) -> None:
    one = Checkpoint({"w": torch.tensor(1.0)}, {}, NOTE)
    save(tmp_path / "a", one)
    save(tmp_path / "b", Checkpoint({"w": torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))}, {}, NOTE))
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()


class Bomb:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


def damaged(folder: Path) -> dict[str, Path]:
    """Files that are no checkpoint, by what is wrong with them."""
    save(folder / "good", example())
    good = (folder / "good").read_bytes()
    contents = {
        "empty": b"",
        "short": good[: len(good) // 2],
        "header alone": good[:20],
        "longer": good + b"x",
        "text": b"not a checkpoint at all",
        "pickle": pickle.dumps(Bomb()),
        "huge header": (2**60).to_bytes(8, "little") + good[8:],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    torch.save({"w": torch.ones(2)}, folder / "torch")
    save_file({"w": torch.ones(2)}, folder / "no note")
    save_file({"w": torch.ones(2)}, folder / "other note", metadata={"other": "1"})
    save_file({"w": torch.ones(2)}, folder / "broken note", metadata={"fedsift": "{"})
    save_file({"w": torch.ones(2)}, folder / "listed note", metadata={"fedsift": "[1]"})
    (folder / "folder").mkdir()
    return {path.name: path for path in folder.iterdir() if path.name != "good"}


def test_anything_else_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = damaged(tmp_path)
    assert len(files) == 13
    for name, path in files.items():
        with pytest.raises(FedsiftError, match="not a readable checkpoint") as caught:
            load(path)
        assert str(path) in str(caught.value), name
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "exploded").exists()


def test_missing_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="no such checkpoint; run the phase before it"):
        load(tmp_path / "none.safetensors")


def test_crash_in_the_middle_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "c", example())
    old = (tmp_path / "c").read_bytes()

    def half(tensors: Any, path: Path, metadata: Any) -> None:
        Path(path).write_bytes(b"half a file")
        raise OSError("No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", half)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path / "c", example())
    assert (tmp_path / "c").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
