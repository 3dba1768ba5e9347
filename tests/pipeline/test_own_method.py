"""The example of docs/methods.md, followed by the letter."""

import re
from pathlib import Path

import pandas as pd
import pytest
from checkout import MINIATURE, ROOT, Checkout

pytestmark = pytest.mark.slow


def test_a_method_in_a_file_of_ones_own(tmp_path: Path) -> None:
    page = (ROOT / "docs/methods.md").read_text()
    code = re.search(r"```python\n# my_methods/drop_loudest.py\n(.*?)```", page, re.DOTALL)
    assert code
    config = MINIATURE.replace("top-loss]", "drop-loudest, drop-very-loud]").replace("[0, 1]", "[0]")
    config += "method_folders: [my_methods]\nmethods: {drop-very-loud: {is: drop-loudest, factor: 5.0}}\n"
    checkout = Checkout.new(tmp_path / "own", config)
    (checkout.folder / "my_methods").mkdir()
    (checkout.folder / "my_methods/drop_loudest.py").write_text(code[1])
    checkout.reproduce("--cores", "2")
    runs = pd.read_csv(checkout.folder / "reports/quick/mini/runs.csv")
    assert {"drop-loudest", "drop-very-loud"} <= set(runs["method"])
    assert checkout.would_run() == set()
