"""The audit of a real run in miniature: its numbers hold, its phases come out again, and what is changed is found."""

import json
import subprocess

import pytest
from checkout import Checkout, edit

pytestmark = pytest.mark.slow

TABLE = "reports/quick/mini"
PHASE = "results/quick/mini/runs/closed-set/K10/seed1/fedavg@2"


def test_a_run_holds_in_depth_and_its_phases_come_out_with_the_same_bits(copy: Checkout) -> None:
    text = copy.run("fedsift", "audit", "--deep", "--replay", "3")
    assert text.startswith("mini: holds; ")
    assert text.count(": same bits\n") == 3
    note = json.loads((copy.folder / "reports/quick/audit.json").read_text())
    assert (note["result"], len(note["replayed"])) == ("holds", 3)
    assert "quick</strong>: holds" in (copy.folder / "reports/quick/audit.html").read_text()


def test_an_audit_re_runs_nothing(copy: Checkout) -> None:
    copy.run("fedsift", "audit")
    assert copy.would_run() == set()


def test_the_chain_of_a_cell_ends_at_the_raw_files(copy: Checkout) -> None:
    text = copy.run("fedsift", "audit", "mini/closed-set/K10/top-loss")
    for word in ("seed 1: accuracy best", f"train: {PHASE}/record.json", "noise: ", "partition: ", "read: ", "fetch: "):
        assert word in text
    assert "data/raw/digits/digits.csv.gz: sha256 " in text


def test_a_flipped_weight_is_found_by_a_deep_audit(copy: Checkout) -> None:
    path = copy.folder / PHASE / "checkpoint.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    text = copy.run("fedsift", "audit", "--deep", code=1)
    assert f"broken: {PHASE}/checkpoint.safetensors: expected sha256 " in text


def test_a_source_file_of_one_method_is_named_without_git(copy: Checkout) -> None:
    """Without git, by the stages that are as they were."""
    edit(copy.folder / "src/fedsift/methods/top_loss.py", "import numpy as np\n", "import os\n\nimport numpy as np\n")
    text = copy.run("fedsift", "audit", "--deep", code=2)
    assert "src/fedsift/methods/top_loss.py: expected the code " in text


def test_a_source_file_that_many_stages_import_is_named_by_git(copy: Checkout) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "-A", "src"], ["commit", "-qm", "code"]):
        subprocess.run([*git, *command], cwd=copy.folder, check=True, capture_output=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=copy.folder, check=True, capture_output=True, text=True)
    for path in copy.folder.rglob("*record.json"):
        note = json.loads(path.read_text()) | {"git": {"commit": commit.stdout.strip(), "dirty": False}}
        path.write_text(json.dumps(note))
    edit(copy.folder / "src/fedsift/training/sgd.py", "import torch\n", "import os\nimport torch\n")
    text = copy.run("fedsift", "audit", "--deep", code=2)
    assert "cannot tell: src/fedsift/training/sgd.py: expected the code " in text
