"""The code fingerprint: a hash of the syntax trees of all package modules that a stage imports, directly or not.

Comments, docstrings, option descriptions, type-checking imports and layout do not count, so a cosmetic edit re-runs
nothing; editing a number in an optimiser re-runs exactly the stages that import it.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import fedsift
from fedsift.files import sha256

ROOT = Path(fedsift.__file__).parent

CARRIERS = ("fedsift.config", "fedsift.section", "fedsift.specs")
"""They only carry values, which are in the digest of a stage's specification, so they do not count."""


def fingerprint(modules: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Hex digest over ``modules`` (names inside the package), other ``files``, and what they import."""
    digest = hashlib.sha256()
    for name, tree_digest in sorted(closure(modules, files).items()):
        digest.update(f"{name} {tree_digest}\n".encode())
    return digest.hexdigest()


def closure(modules: Iterable[str], files: Iterable[Path] = ()) -> dict[str, str]:
    """Every module that ``modules`` and ``files`` reach: name -> digest of its syntax tree."""
    found: dict[str, str] = {}
    waiting = list(modules)
    for file in files:
        if file.suffix == ".py":
            found[file.name], imports = _parsed(file, file.stat().st_mtime_ns)
            waiting += imports
        else:
            found[file.name] = sha256(file)
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


@cache
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
    return hashlib.sha256(_written(tree).encode()).hexdigest(), tuple(sorted(ours | parents))


def _written(node: object) -> str:
    """A syntax tree as text. Empty fields are left out: which of them exist differs between versions of Python."""
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_written(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []
        ]
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    return repr(node)


def _drop_words(node: ast.AST) -> None:
    """Take out what only people and type checkers read.

    Strings that stand alone document a module, class, function or attribute; `description=` documents an option; what
    stands under `if TYPE_CHECKING:` never runs.
    """
    if isinstance(node, ast.Call):
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if isinstance(statements, list):
            setattr(node, name, [kept for statement in statements for kept in _running(statement)])


def _running(statement: ast.stmt) -> list[ast.stmt]:
    """What of a statement ever runs."""
    if isinstance(statement, ast.If) and ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        return [kept for other in statement.orelse for kept in _running(other)]
    words = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return [] if words else [statement]
