"""The reference file is consistent, and mistakes in one are told in a sentence."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fedsift.errors import FedsiftError
from fedsift.results.reference import Reference, Where


def test_printed_gains_are_the_differences_of_printed_values(made: Any) -> None:
    reference = Reference.load(made.reference, "mtae")
    checked = 0
    for entry in reference.values:
        if entry.quantity == "value" or entry.alternative:
            continue
        own = reference.find(entry.where._replace(quantity="value"))
        base = reference.find(entry.where._replace(quantity="value", method="fedavg"))
        if own and base:
            assert entry.value == pytest.approx(own.value - base.value, abs=1e-9), entry.where
            checked += 1
    assert checked == 11


def test_every_known_value_is_there(made: Any) -> None:
    reference = Reference.load(made.reference, "mtae")
    assert len(reference.values) == 36
    assert sum(entry.alternative for entry in reference.values) == 2
    where = Where("cifar10", "closed-set", 50, "loss-ocsvm", "accuracy", "best", "value")
    assert reference.find(where).value == 0.4561  # type: ignore[union-attr]
    assert reference.find(where._replace(quantity="gain over fedavg")).value == 0.0702  # type: ignore[union-attr]
    assert reference.find(where._replace(clients=200)) is None
    assert reference.find(where._replace(at="last")) is None
    assert [entry.value for entry in reference.unplaced] == [0.0136]


def test_a_contradicting_number_is_shown_beside_not_instead(made: Any) -> None:
    reference = Reference.load(made.reference, "mtae")
    where = Where("cifar10", "open-imagenet32", 200, "svdd+feature-ocsvm", "accuracy", "best", "gain over fedavg")
    assert reference.find(where).value == 0.0059  # type: ignore[union-attr]
    assert [entry.value for entry in reference.alternatives(where)] == [0.0099]


def test_a_released_method_stands_for_what_is_printed(made: Any) -> None:
    reference = Reference.load(made.reference, "mtae")
    where = Where("mnist", "closed-set", 1000, "loss-threshold-released", "accuracy", "best", "value")
    assert reference.find(where) is reference.find(where._replace(method="loss-threshold"))
    assert reference.find(where) is not None


def test_alternatives_say_why(made: Any) -> None:
    assert all(entry.note for entry in Reference.load(made.reference, "mtae").values if entry.alternative)


def test_a_paper_without_a_file_prints_nothing_but_a_missing_folder_is_an_error(made: Any) -> None:
    assert Reference.load(made.reference, "another").values == ()
    with pytest.raises(FedsiftError, match="no such folder of reference values"):
        Reference.load(Path("nowhere"), "mtae")


MISTAKES = [
    (("values", 2, "method"), "loss-ocvsm", "'loss-ocvsm' is not listed in methods; did you mean 'loss-ocsvm'"),
    (("stands_for", "new"), "old", "stands_for, new: it stands for 'old'; the first may not be listed in methods"),
    (("values", 0, "noise"), "rain", "values, entry 1, noise: 'rain' is not listed in noises"),
    (("values", 0, "value"), 39.74, "values, entry 1, value: Input should be less than or equal to 1"),
    (("values", 0, "metric"), "auc", "values, entry 1, metric: Input should be"),
    (("values", 0, "colour"), "red", "values, entry 1, colour: Extra inputs are not permitted"),
    (("values", 0, "source"), "", "values, entry 1, source: "),
    (("values", 0, "quantity"), "gain over fedavg", "values, entry 1: fedavg has no gain over itself"),
    (("values", 1, "quantity"), "gain over fedavg", "values, entry 2: this cell has several entries"),
    (("values", 4, "alternative"), True, "values, entry 5: an alternative needs an entry"),
    (("unplaced", 0, "method"), "none", "unplaced, entry 1, method: 'none'"),
    (("paper",), "iaofl", "it is 'iaofl', but the file's name says 'mtae'"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "message"), MISTAKES)
def test_mistakes_name_file_and_entry(made: Any, place: tuple[Any, ...], value: object, message: str) -> None:
    content = yaml.safe_load((made.reference / "mtae.yaml").read_text(encoding="utf-8"))
    part = content
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    Path("mtae.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(FedsiftError) as error:
        Reference.load(Path(), "mtae")
    assert str(error.value).startswith("mtae.yaml: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_broken_yaml_names_the_line(made: Any) -> None:
    Path("mtae.yaml").write_text("paper: mtae\nvalues: [\n")
    with pytest.raises(FedsiftError, match=r"mtae.yaml:3: not valid YAML"):
        Reference.load(Path(), "mtae")
    Path("mtae.yaml").write_text("")
    with pytest.raises(FedsiftError, match="the file: "):
        Reference.load(Path(), "mtae")
