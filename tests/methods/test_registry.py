from pathlib import Path

import pytest

from fedsift.errors import ConfigError
from fedsift.methods import registry
from fedsift.methods.base import Method

MINE = """
from fedsift.methods.base import Method


class Mine(Method):
    number = {number}


METHOD = Mine
"""

BUILT_IN = {
    "fedavg": "FedAvg",
    "feature-iforest": "FeatureIforest",
    "feature-ocsvm": "FeatureOcsvm",
    "loss-ocsvm": "LossOcsvm",
    "loss-iforest": "LossIforest",
    "loss-threshold": "LossThreshold",
    "gmm-loss": "GmmLoss",
    "loss-iforest-auto": "LossIforestAuto",
    "loss-iforest-rich": "LossIforestRich",
    "loss-iforest-soft": "LossIforestSoft",
    "loss-ocsvm-auto": "LossOcsvmAuto",
    "loss-ocsvm-soft": "LossOcsvmSoft",
    "loss-threshold-released": "LossThresholdReleased",
    "oracle": "Oracle",
    "random-drop": "RandomDrop",
    "svdd": "Svdd",
    "svdd+feature-iforest": "SvddFeatureIforest",
    "svdd+feature-ocsvm": "SvddFeatureOcsvm",
    "top-loss": "TopLoss",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_methods(name: str) -> None:
    assert name in registry.names()
    assert registry.load(registry.find(name)).__name__ == BUILT_IN[name]


@pytest.mark.parametrize("name", registry.names())
def test_every_listed_method_can_be_made(name: str) -> None:
    cls = registry.load(registry.find(name))
    options = cls.Options()
    assert issubclass(cls, Method)
    for step in cls.lineage(options, 100):
        registry.load(registry.find(step.method)).Options.model_validate(step.options)


@pytest.mark.parametrize("name", ["base", "registry", "from-start", "--init--"])
def test_helpers_are_no_methods(name: str) -> None:
    assert name not in registry.names()
    with pytest.raises(ConfigError, match="no method"):
        registry.find(name)


def test_typing_error_gets_a_hint() -> None:
    with pytest.raises(ConfigError, match="did you mean 'loss-ocsvm'"):
        registry.find("loss-ocvsm")
    with pytest.raises(ConfigError, match=r"known: .*fedavg"):
        registry.find("zzz")


def test_own_method(tmp_path: Path) -> None:
    (tmp_path / "my_way.py").write_text(MINE.format(number=1))
    (tmp_path / "_helper.py").write_text("")
    assert registry.find("my-way", [str(tmp_path)]) == tmp_path / "my_way.py"
    assert {"my-way"} == set(registry.names([str(tmp_path)])) - set(registry.names())
    assert registry.load(tmp_path / "my_way.py").number == 1


def test_own_methods_of_the_same_name_in_two_folders(tmp_path: Path) -> None:
    """One process (the planner, a test) may load both."""
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "mine.py").write_text(MINE.format(number=number))
    loaded = [registry.load(tmp_path / str(number) / "mine.py").number for number in (1, 2, 1)]
    assert loaded == [1, 2, 1]


def test_own_method_may_not_stand_in_for_another(tmp_path: Path) -> None:
    (tmp_path / "fedavg.py").write_text(MINE.format(number=1))
    with pytest.raises(ConfigError, match="already a method 'fedavg'"):
        registry.find("fedavg", [str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_like_this", "ModuleNotFoundError"),
        ("x = (", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("", "it must end with METHOD ="),
        ("METHOD = 3", "it must end with METHOD ="),
        ("METHOD = int", "it must end with METHOD ="),
    ],
)
def test_broken_method_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        registry.load(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    file.write_text(MINE.format(number=7))
    assert registry.load(file).number == 7
