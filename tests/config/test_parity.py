"""Two profiles from one list: what it says holds, and what is made of it does not drift."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedsift.config import load
from fedsift.config.parity import Discrepancies, code_parity_text, discrepancies_page, resolved
from fedsift.errors import ConfigError

ROOT = Path(__file__).parents[2]
SOURCE = Path("config/discrepancies/mtae.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the repository's configuration, as the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config.yaml", "config.yaml")
    shutil.copytree(ROOT / "config", "config")
    return tmp_path


def changed(**change: Any) -> None:
    """Write the list with its first point (D1, weight decay) changed, and no other."""
    content = yaml.safe_load(SOURCE.read_text())
    assert content["points"][0]["id"] == "D1"
    content["points"] = [content["points"][0] | change]
    SOURCE.write_text(yaml.safe_dump(content))


def test_the_files_do_not_drift(project: Path) -> None:
    assert (ROOT / "config" / "code-parity.yaml").read_text() == code_parity_text(), "run `make docs`"
    assert (ROOT / "docs" / "discrepancies.md").read_text() == discrepancies_page(), "run `make docs`"


def test_the_profiles_differ_in_the_listed_keys_and_no_others(project: Path) -> None:
    """A slow twin: flatten both profiles as they are run, and compare all that stands in them."""
    paper, code = (resolved(load(["config.yaml", f"config/{name}.yaml"])) for name in ("paper", "code-parity"))
    for one in (paper, code):
        for name in [name for name in one["experiments"] if name.endswith("-baseline")]:
            del one["experiments"][name]

    def flat(value: Any, *loc: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            return {".".join(loc): value}
        return {key: leaf for name, inside in value.items() for key, leaf in flat(inside, *loc, name).items()}

    left, right = flat(paper), flat(code)
    assert left.keys() == right.keys()
    ends = {key.rsplit(".", 1)[1] for key in left if left[key] != right[key] and "." in key}
    assert ends == {
        "weight_decay", "reshuffle", "trains_at_start", "methods", "factor", "average", "radii_at_start", "reported"
    }  # fmt: skip
    assert {key for key in left if left[key] != right[key] and "." not in key} == {"scale"}


def test_values_of_the_profiles(project: Path) -> None:
    paper, code = (load(["config.yaml", f"config/{name}.yaml"]) for name in ("paper", "code-parity"))
    for config, decay, order, rule in ((paper, 0.001, "round", ""), (code, 0.0, "never", "-released")):
        for experiment in config.experiments.values():
            assert experiment.training.weight_decay == decay
        assert config.experiments["mnist-closed"].training.reshuffle == order
        assert config.experiments["cifar10-closed"].training.reshuffle == "round"
        assert config.experiments["cifar10-closed"].methods[1] == f"loss-threshold{rule}"
        assert config.experiments["cifar10-open"].tables["loss-space"].methods[1] == f"loss-threshold{rule}"
    svdd = resolved(code)["methods"]["svdd+feature-iforest"]
    assert (svdd["svdd"]["factor"], svdd["svdd"]["radii_at_start"], svdd["trains_at_start"]) == (
        "inverse-nu", "zero", False
    )  # fmt: skip
    own = code.experiments["cifar10-open-baseline"]
    assert (own.methods, own.training.reshuffle, own.tables) == (["fedavg"], "epoch", {})
    assert own.noises == code.experiments["cifar10-open"].noises


def test_the_page_has_every_point(project: Path) -> None:
    page = discrepancies_page()
    points = Discrepancies.read().points
    assert len({point.id for point in points}) == len(points)
    for point in points:
        assert f"\n### {point.id}: {point.point}\n" in page
    same = page.index("## Points on which both profiles are the same")
    assert page.index("### D1: weight decay") < same < page.index("### D13: ")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": [{"keys": ["experiments.mnist-*.training.weight_decay"], "paper": 0.5, "code": 0.0}]},
         "point D1: experiments.mnist-clean.training.weight_decay is 0.001 in config/paper.yaml, not 0.5; correct"),
        ({"settings": [{"keys": ["experiments.*.training.decay"], "paper": 0.5, "code": 0.0}]},
         "the key experiments.*.training.decay stands for nothing in the configuration"),
        ({"settings": []}, "point D1 has neither settings nor a reason"),
        ({"setings": []}, "points.0.setings Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_mistakes_in_the_list_are_told(project: Path, change: dict[str, Any], sentence: str) -> None:
    changed(**change)
    with pytest.raises(ConfigError) as caught:
        code_parity_text()
    assert str(caught.value).startswith("config/discrepancies/mtae.yaml: ")
    assert sentence in str(caught.value)


def test_nothing_but_the_settings_changes(project: Path) -> None:
    changed()
    made = yaml.safe_load(code_parity_text())
    base = yaml.safe_load(Path("config/paper.yaml").read_text())
    for experiment in made["experiments"].values():
        assert experiment["training"].pop("weight_decay") == 0.0
    for experiment in base["experiments"].values():
        experiment["training"].pop("weight_decay", None)
    assert made | {"scale": "paper"} == base


def test_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no such list; run fedsift in the project's folder"):
        discrepancies_page()
