"""Contributions in the whole workflow: from checkpoints to the page."""

from pathlib import Path

import pandas as pd
import pytest
from checkout import MINIATURE, PHASES, Checkout, edit

pytestmark = pytest.mark.slow

SECTION = "    contributions: {methods: [fedavg, top-loss], rounds: [0, 1, 6], validation: 100}\n"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The miniature with contributions. Do not change it: copy it."""
    checkout = Checkout.new(tmp_path_factory.mktemp("contributions") / "judged", MINIATURE + SECTION)
    checkout.reproduce("--cores", "2")
    return checkout


def test_every_round_is_judged_and_shown(judged: Checkout) -> None:
    reports = judged.folder / "reports/quick"
    found = pd.read_csv(reports / "mini/contributions.csv")
    assert set(found["status"]) == {"ok"}
    rounds = found.groupby(["method", "round", "seed"])
    assert set(rounds.groups) == {
        (method, at, seed) for method in ("fedavg", "top-loss") for at in (0, 1, 6) for seed in (0, 1)
    }
    shares = [name for name in found if str(name).endswith("_share")]
    assert (rounds[shares].sum() - 1).abs().max().max() < 1e-12
    gain = rounds["v_everybody"].first() - rounds["v_nobody"].first()
    assert (rounds["shapley_u"].sum() - gain).abs().max() < 1e-12
    # Before round 2 the one method equals the other, on shared checkpoints.
    apart = found[found["round"] < 6].set_index(["round", "seed", "client"]).groupby("method")
    one, other = (apart.get_group(name).drop(columns="method") for name in ("fedavg", "top-loss"))
    pd.testing.assert_frame_equal(one, other)
    page = (reports / "index.html").read_text()
    assert "rank correlation between schemes of contribution" in page


def test_looking_changes_no_result(judged: Checkout, finished: Checkout) -> None:
    """Phases are cut where rounds are judged, and give the same numbers."""
    for name in ("cells.csv", "rounds.csv"):
        place = Path("reports/quick/mini", name)
        assert (judged.folder / place).read_bytes() == (finished.folder / place).read_bytes()


def test_another_parameter_judges_anew_and_trains_nothing(judged: Checkout, tmp_path: Path) -> None:
    copy = judged.copy(tmp_path / "copy")
    assert copy.would_run() == set()
    edit(copy.folder / "config.yaml", "validation: 100", "validation: 100, alpha: 0.5")
    again = copy.would_run()
    assert sum(made.endswith(".csv") and "/contributions/" in made for made in again) == 12
    assert not copy.phases_to_run()
    before = copy.published()
    copy.reproduce("--cores", "2")
    changed = {name for name, text in copy.published().items() if text != before.get(name)}
    # With the linear form alpha changes the shares and not the ranks.
    assert "reports/quick/mini/contributions.csv" in changed
    assert "reports/quick/mini/rank-correlations.csv" not in changed


def test_other_rounds_mean_other_phases(judged: Checkout, tmp_path: Path) -> None:
    copy = judged.copy(tmp_path / "copy")
    edit(copy.folder / "config.yaml", "rounds: [0, 1, 6]", "rounds: [0, 6]")
    assert copy.phases_to_run() == PHASES
