"""How far the first method that hires is ahead, and what the paper says of it."""

import csv
import io
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from results.journals import JUDGES, PRICES_ONLY

from fedsift.errors import FedsiftError
from fedsift.results.collect import Results, collect
from fedsift.results.files import TableName
from fedsift.results.layout import Kind
from fedsift.results.market_gaps import MEAN, gaps_csv
from fedsift.results.reference import Reference
from fedsift.results.table import build
from fedsift.specs import TableSpec

SHARES = {"free-00": 0.0, "free-10": 0.1, "free-20": 0.2}
MARKET = {"iaofl": JUDGES, "ospb-quality": PRICES_ONLY, "ospm": PRICES_ONLY}


def accuracy(method: str, noise: str, seed: int) -> float:
    """IAOFL is at 0.8; OSPB is behind by 0.05, 0.06 and 0.07 at 10 %, by ten times that at 0 %, never at 20 %."""
    behind = {"free-00": 0.1, "free-10": 0.01, "free-20": 0.0}[noise] * (5 + seed)
    return 0.8 - {"iaofl": 0.0, "ospb-quality": behind, "ospm": 0.2 - 0.1 * seed}[method]


def results(made: Any, reference: Reference | None = None, **changes: Any) -> Results:
    values = {"paper": "iaofl", "scale": "iaofl", "dataset": "cifar10", "clients": [100], "methods": [*MARKET]}
    values |= {"noises": [*SHARES], "market": MARKET, "free_riders": SHARES}
    spec: TableSpec = made.spec(**values | changes)
    for cell in spec.cells:
        made.run(cell.phases[0], [made.row(0, 0.1), made.row(3, accuracy(cell.method, cell.noise, cell.seed))], 4)
    return collect(spec, Path("state"), reference or Reference.load(made.reference, spec.paper))


def row(found: Results, against: str, noise: str) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO(gaps_csv(found)))
    (one,) = (row for row in rows if (row["against"], row["noise"], row["at"]) == (against, noise, "last"))
    return one


def test_the_mean_is_over_the_noises_with_free_riders_and_paired_by_seed(made: Any) -> None:
    one = row(results(made), "ospb-quality", MEAN)
    assert float(one["mean"]) == pytest.approx(fmean([0.05, 0.06, 0.07]) / 2)
    assert float(one["high"]) - float(one["mean"]) == pytest.approx(4.302653 * 0.005 / 3**0.5, rel=1e-5)
    assert (one["method"], one["n"], one["clients"]) == ("iaofl", "3", "100")


def test_a_variant_is_compared_with_the_printed_gap_and_its_sign_is_tested(made: Any) -> None:
    found = results(made)
    one = row(found, "ospb-quality", MEAN)
    assert (one["paper"], one["verdict"], one["claim_verdict"]) == ("0.06", "differs", "holds")
    assert float(one["difference"]) == pytest.approx(0.03 - 0.06)
    one = row(found, "ospm", MEAN)
    assert (one["paper"], one["claim_verdict"], one["claim_reason"]) == (
        "0.14",
        "cannot be told",
        "the interval includes zero",
    )
    assert row(found, "ospm", "free-10")["paper"] == ""


def test_other_scales_and_splits_have_no_verdict(made: Any) -> None:
    assert row(results(made, scale="quick"), "ospm", MEAN)["verdict"] == "scale is not the paper's"
    unlike = {"scheme": "dirichlet"}
    assert row(results(made, partition=unlike), "ospm", MEAN)["verdict"] == "no value printed"


def test_the_table_has_a_column_per_noise_and_says_what_is_missing(made: Any) -> None:
    found = results(made)
    lost = found.spec.cells[0]
    Path(lost.phases[0], "history.csv").unlink()
    table = build(collect(found.spec, Path("state"), found.reference), TableName("", "gaps", clients=100))
    assert table.columns == [*SHARES, MEAN]
    name, cells = table.rows[0]
    assert name == "iaofl over ospb-quality, last round"
    assert cells[0][Kind.SEEDS].text == "2 of 3"
    assert "iaofl: seed 0: not run yet" in [text for _, text in table.notes]
    assert cells[3][Kind.DIFFERENCE].text.startswith("+3.00 ±")
    assert cells[3][Kind.PAPER_GAIN].text == "+6.00 (−3.00)"
    assert Kind.PAPER_GAIN not in cells[1]


def test_without_a_series_of_free_riders_there_is_no_mean(made: Any) -> None:
    table = build(results(made, free_riders={}), TableName("", "gaps", clients=100))
    assert table.columns == [*SHARES]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"against": "iaofl"}, "gaps, entry 1: iaofl is compared with itself"),
        ({"against": "ospbb"}, "gaps, entry 1, against: 'ospbb' is not listed in methods; did you mean 'ospb'"),
        ({"noise": "mixd"}, "gaps, entry 1, noise: 'mixd' is not listed in noises; did you mean 'mixed'"),
        ({"dataset": "cifar10"}, "gaps, entry 3: entry 1 is the same gap"),
        ({"value": 5}, "gaps, entry 1, value"),
    ],
)
def test_a_mistake_in_the_file_is_named(made: Any, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = yaml.safe_load(Path(made.reference, "iaofl.yaml").read_text())
    file["gaps"][0] |= change
    Path(tmp_path, "iaofl.yaml").write_text(yaml.safe_dump(file))
    with pytest.raises(FedsiftError, match=message):
        Reference.load(tmp_path, "iaofl")
