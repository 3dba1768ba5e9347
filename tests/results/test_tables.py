"""The stage: which files it writes, and that they never change by themselves."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fedsift.errors import FedsiftError
from fedsift.results.files import table_files
from fedsift.results.tables import write_tables
from fedsift.specs import GroupSpec

BIG: dict[str, Any] = {
    "noises": ["clean", "closed-set"],
    "clients": [1000, 50],
    "methods": ["fedavg", "loss-ocsvm", "_a $method$ & <another>"],
}


def written(folder: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def test_exactly_the_declared_files_are_written_with_the_same_bytes_each_time(made: Any) -> None:
    spec = made.finished(**BIG)
    Path(spec.cells[0].phases[0], "history.csv").unlink()
    write_tables(spec, reference=made.reference)
    first = written("reports")
    assert sorted(first) == sorted(table_files(spec))
    assert len(table_files(spec)) == len(set(table_files(spec))) == 8 + 4 + 2 * ((6 + 3 * 2) * 4 + 3 * 2)
    for path in first:
        Path(path).unlink()
    write_tables(spec, reference=made.reference)
    assert written("reports") == first


def test_groups_of_methods_have_tables_of_their_own_instead_of_a_wide_one(made: Any) -> None:
    groups = {"a": GroupSpec(title="A", methods=["fedavg"]), "b": GroupSpec(title="B", methods=["loss-ocsvm"])}
    spec = made.finished(groups=groups)
    write_tables(spec, reference=made.reference)
    assert sorted(written("reports")) == sorted(table_files(spec))
    names = {
        Path(file).relative_to("reports/paper/cifar").as_posix() for file in table_files(spec) if "tables/" in file
    }
    stems = {name.removesuffix(".csv") for name in names if name.endswith(".csv")}
    finals = ("accuracy-best", "macro-f1-best", "accuracy-last", "macro-f1-last")
    assert stems == {f"tables/{group}/closed-set-{what}" for group in groups for what in finals} | {
        "tables/closed-set-reconstruction",
        "tables/closed-set-detection",
        "tables/closed-set-K1000-participation",
        "tables/closed-set-K1000-accuracy-by-round",
        "tables/closed-set-K1000-class-recall",
        "tables/claims",
    }
    page = Path("reports/paper/cifar/tables.html").read_text(encoding="utf-8")
    assert 'href="tables/a/closed-set-accuracy-best.csv"' in page


def test_a_model_without_decoder_has_no_reconstruction_table(made: Any) -> None:
    assert not [file for file in table_files(made.spec(model="cnn-three")) if "reconstruction" in file]


def test_bytes_do_not_depend_on_the_hash_seed_or_the_process(made: Any) -> None:
    spec = made.finished(methods=["fedavg", "b", "a"])
    Path("spec.json").write_text(spec.text(), encoding="utf-8")
    command = (
        "from pathlib import Path; from fedsift.specs import TableSpec; "
        "from fedsift.results.tables import write_tables; "
        f"write_tables(TableSpec.read('spec.json'), reference=Path({str(made.reference)!r}))"
    )
    seen = []
    for seed in ("1", "2"):
        environment = {
            "PYTHONHASHSEED": seed,
            "PATH": "/usr/bin:/bin",
            "TZ": f"UTC{seed}",
            "OMP_NUM_THREADS": "1",
        }
        subprocess.run([sys.executable, "-c", command], check=True, env=environment)
        seen.append(written("reports"))
    assert seen[0] == seen[1]


def test_no_path_of_the_machine_stands_in_any_file(made: Any, tmp_path: Path) -> None:
    write_tables(made.finished(), reference=made.reference)
    for path, data in written("reports").items():
        assert str(tmp_path).encode() not in data, path
        assert b"matplotlib.org" not in data, path


def test_all_cells_missing_is_no_error(made: Any) -> None:
    spec = made.spec(**BIG)
    write_tables(spec, reference=made.reference)
    assert sorted(written("reports")) == sorted(table_files(spec))
    page = Path("reports/paper/cifar/tables.html").read_text(encoding="utf-8")
    assert "36 runs: not run yet" in page
    assert "closed-set-accuracy-best.csv" in page
    # Nobody selected anything, so there is nothing to say about detection.
    assert "detection.csv" not in page


def test_one_method_without_selection(made: Any) -> None:
    write_tables(made.finished(methods=["fedavg"], paper="emfedavg"), reference=made.reference)
    assert "detection" not in Path("reports/paper/cifar/tables/closed-set-accuracy-best.md").read_text()


@pytest.mark.parametrize("noise", ["../evil", "", "a/b", ".hidden", "a\nb"])
def test_a_noise_that_is_no_file_name_is_refused(made: Any, noise: str) -> None:
    with pytest.raises(FedsiftError, match="cannot be part of a file name"):
        table_files(made.spec(noises=[noise]))
    with pytest.raises(FedsiftError):
        write_tables(made.spec(noises=[noise]), reference=made.reference)
    assert not Path("reports").exists()


def test_file_names_are_known_without_heavy_imports() -> None:
    code = (
        "import sys; import fedsift.results.files; "
        "print(sorted({'pandas', 'numpy', 'scipy', 'matplotlib', 'torch', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
