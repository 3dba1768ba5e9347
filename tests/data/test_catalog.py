"""The catalog: closed, complete, quick to import, and a user's own set."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from fedsift.data import catalog
from fedsift.data.fetch import fetch
from fedsift.data.read import read
from fedsift.errors import FedsiftError

SETS = [
    "digits",
    "mnist5k",
    "photos",
    "mnist",
    "cifar10",
    "emnist-letters",
    "emnist-balanced",
    "svhn",
    "imagenet32",
]


def test_all_sets_are_described() -> None:
    sets = catalog.load()
    assert list(sets) == SETS
    for dataset in sets.values():
        assert dataset.title and dataset.licence and dataset.citation and dataset.homepage.startswith("http")
        assert all(file.sha256 or not dataset.verified for file in dataset.files)


@pytest.mark.parametrize("name", [n for n in SETS if n not in ("digits", "mnist5k", "photos", "imagenet32")])
def test_official_address_stands_first(name: str) -> None:
    official = {"mnist": "yann.lecun.com", "cifar10": "cs.toronto.edu", "svhn": "stanford.edu"}.get(name, "nist.gov")
    dataset = catalog.get(name)
    assert all(official in item.urls[0] for item in [*dataset.archives, *dataset.files] if item.urls)
    assert all(file.urls or dataset.archive_of(file) for file in dataset.files)


def test_import_is_cheap() -> None:
    code = "import sys; from fedsift.data import catalog; catalog.load(); print([m for m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not [name for name in ("'numpy'", "'torch'", "'pandas'", "'requests'", "'scipy'") if name in loaded]


def test_models_are_closed() -> None:
    entry = catalog.get("digits").model_dump()
    with pytest.raises(ValidationError):
        catalog.DataSet.model_validate({**entry, "licens": "typo"})
    with pytest.raises(ValidationError):
        catalog.DataSet.model_validate({**entry, "train": "1442"})
    with pytest.raises(ValidationError, match="sha256"):
        catalog.DataSet.model_validate({**entry, "files": [{"name": "a", "role": "all"}]})


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/b", ".hidden", "a\nb", ""])
def test_names_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(ValidationError):
        catalog.File(name=name, role="all")


def test_unknown_set_names_the_nearest() -> None:
    with pytest.raises(FedsiftError, match="did you mean cifar10"):
        catalog.get("cifar-10")


def save_own(folder: Path, n: int = 6, **change: np.ndarray) -> None:
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        arrays = {"x": rng.integers(0, 256, (n, 5, 4), np.uint8), "y": np.arange(n) % 3}
        np.savez(folder / f"{part}.npz", **{**arrays, **change})


def test_own_set_is_described_fetched_and_read(tmp_path: Path) -> None:
    save_own(tmp_path / "it's mine")
    dataset = catalog.own_set("mine", tmp_path / "it's mine")
    assert (dataset.shape, dataset.classes, dataset.train, dataset.test) == ((5, 4, 1), 3, 6, 6)
    fetch(dataset, tmp_path / "data", [], False, lambda line: None)
    arrays = read(dataset, tmp_path / "data")
    assert np.array_equal(arrays.x_train[..., 0], np.load(tmp_path / "it's mine" / "train.npz")["x"])
    assert arrays.y_test.dtype == np.int32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((6, 5, 4))}, "uint8"),
        ({"x": np.zeros((6, 5), np.uint8)}, "uint8"),
        ({"x": np.zeros((7, 5, 4), np.uint8)}, "7 images but 6 labels"),
        ({"y": np.arange(6) - 1}, "outside"),
        ({"y": np.arange(6) / 2}, "whole numbers"),
        ({"y": np.array([{}] * 6, dtype=object)}, "whole numbers"),
    ],
)
def test_bad_own_set_is_refused_in_one_sentence(tmp_path: Path, change: dict[str, np.ndarray], message: str) -> None:
    save_own(tmp_path / "own", **change)
    with pytest.raises(FedsiftError, match=message) as caught:
        catalog.own_set("mine", tmp_path / "own")
    assert "train.npz" in str(caught.value)


def test_own_set_needs_both_files_and_a_free_name(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="train.npz is missing"):
        catalog.own_set("mine", tmp_path)
    with pytest.raises(FedsiftError, match="is taken"):
        catalog.own_set("mnist", tmp_path)
    save_own(tmp_path)
    with pytest.raises(FedsiftError, match="cannot be used, name"):
        catalog.own_set("../mine", tmp_path)
    (tmp_path / "test.npz").write_bytes((tmp_path / "test.npz").read_bytes()[:200])
    with pytest.raises(FedsiftError, match="not a readable npz"):
        catalog.own_set("mine", tmp_path)
