"""A small configuration, one key a line, to be spoilt."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedsift.config import Config, load
from fedsift.errors import ConfigError

BASE = """\
scale: quick
experiments:
  one:
    paper: mtae
    title: One
    dataset: digits
    model: mtae-digits
    partition:
      scheme: dirichlet
      alpha: 0.5
      min_samples: 5
    noises:
      dirty:
        kind: closed-set
        rate: 0.4
        scope: random
    clients: [50, 20]
    methods:
      - fedavg
      - loss-ocsvm
    seeds: [0, 1]
    rounds: 100
    training:
      lr: 0.5
"""


class Desk:
    """Writes configurations into the working folder and reads them."""

    base = BASE

    def load(self, *changes: tuple[str, str], text: str = BASE) -> Config:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        Path("config.yaml").write_text(text)
        return load(["config.yaml"])

    def refusal(self, *changes: tuple[str, str], text: str = BASE) -> str:
        """The one sentence with which a changed configuration is refused."""
        with pytest.raises(ConfigError) as caught:
            self.load(*changes, text=text)
        sentence = str(caught.value)
        assert "\n" not in sentence
        return sentence

    def laid_over(self, *overlays: str) -> Config:
        """The base with overlays, the files `1.yaml`, `2.yaml`, ..."""
        Path("config.yaml").write_text(BASE)
        paths = [Path("config.yaml")]
        for number, text in enumerate(overlays, start=1):
            paths.append(Path(f"{number}.yaml"))
            paths[-1].write_text(text)
        return load(paths)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk()


@pytest.fixture
def refusal(desk: Desk) -> Callable[..., str]:
    return desk.refusal
