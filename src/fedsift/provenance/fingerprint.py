"""The code fingerprint: a hash of the syntax trees of all package modules that a stage imports, directly or not.

Comments, docstrings, option descriptions, type-checking imports and layout do not count, so a cosmetic edit re-runs
nothing; editing a number in an optimiser re-runs exactly the stages that import it.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import fedsift

ROOT = Path(fedsift.__file__).parent

CARRIERS = ("fedsift.config", "fedsift.specs")
"""Packages that only carry values: what they carry is in the digest of a stage's specification, so they do not count."""


def fingerprint(modules: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Hex digest over ``modules`` (names inside the package), ``files`` outside it, and what they import."""
    digest = hashlib.sha256()
    for name, tree_digest in sorted(closure(modules, files).items()):
        digest.update(f"{name} {tree_digest}\n".encode())
    return digest.hexdigest()


def closure(modules: Iterable[str], files: Iterable[Path] = ()) -> dict[str, str]:
    """Every module that ``modules`` and ``files`` reach: name -> digest of its syntax tree."""
    found: dict[str, str] = {}
    waiting = list(modules)
    for file in files:
        tree_digest, imports = _parsed(file, file.stat().st_mtime_ns)
        found[file.name] = tree_digest
        waiting += imports
    while waiting:
        name = waiting.pop()
        if name in found or name.startswith(CARRIERS):
            continue
        path = _path(name)
        if path is None:
            continue
        found[name], imports = _parsed(path, path.stat().st_mtime_ns)
        waiting += imports
    return found


def _path(module: str) -> Path | None:
    """File of a package module; None for names that are not modules (a function in `from a.b import f`)."""
    base = ROOT.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@lru_cache(maxsize=None)
def _parsed(path: Path, _time: int) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        _drop_words(node)
    imports: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    # Importing a.b.c runs a and a.b first.
    ours = {name for name in imports if name.split(".")[0] == "fedsift"}
    parents = {".".join(name.split(".")[:depth]) for name in ours for depth in range(1, name.count(".") + 1)}
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(sorted(ours | parents))


def _drop_words(node: ast.AST) -> None:
    """Take out what only people and type checkers read.

    Strings that stand alone document a module, class, function or attribute; `description=` documents an option; what
    stands under `if TYPE_CHECKING:` never runs.
    """
    if isinstance(node, ast.Call):
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
    body = getattr(node, "body", None)
    if isinstance(body, list):
        node.body = [statement for statement in body if not _is_words(statement)]  # type: ignore[attr-defined]


def _is_words(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
