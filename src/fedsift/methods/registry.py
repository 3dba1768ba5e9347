"""Find a method by its name: a file in this folder or in one of the user's `method_folders`, nothing to register."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedsift.errors import ConfigError
from fedsift.methods.base import Method
from fedsift.plugins import load_module

HERE = Path(__file__).parent
NOT_METHODS = {"__init__", "base", "registry", "from_start", "auction"}


def names(folders: Sequence[str] = ()) -> list[str]:
    """All methods by name, built in ones and those in ``folders``."""
    files = [file for folder in (HERE, *map(Path, folders)) for file in folder.glob("[!_]*.py")]
    return sorted({_name(file) for file in files if file.stem not in NOT_METHODS})


def find(name: str, folders: Sequence[str] = ()) -> Path:
    """The file of method ``name``.

    Raises:
        ConfigError: no such method, with the closest name; or two, since none may silently stand in for another.
    """
    files = [folder / f"{_stem(name)}.py" for folder in (HERE, *map(Path, folders))]
    found = [file for file in files if file.stem not in NOT_METHODS and file.is_file()]
    if len(found) > 1:
        raise ConfigError(f"{found[1]}: there is already a method '{name}', in {found[0].parent}; rename the file.")
    if found:
        return found[0]
    known = names(folders)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}."
    raise ConfigError(f"no method '{name}'; {hint}")


def load(file: Path) -> type[Method]:
    """The class that ``file`` calls METHOD.

    Raises:
        ConfigError: the file cannot be imported or has no such class.
    """
    module = module_name(file)
    try:
        if module.startswith("fedsift."):
            loaded = importlib.import_module(module)
        elif getattr(sys.modules.get(module), "__file__", None) == str(file.resolve()):
            loaded = sys.modules[module]
        else:
            loaded = load_module(file, module)
    except Exception as error:
        sys.modules.pop(module, None)
        words = " ".join(str(error).split())
        raise ConfigError(f"{file}: the method cannot be imported: {type(error).__name__}: {words}.") from error
    method: Any = getattr(loaded, "METHOD", None)
    if not (isinstance(method, type) and issubclass(method, Method)):
        sys.modules.pop(module, None)
        raise ConfigError(f"{file}: it must end with METHOD = <a subclass of fedsift.methods.base.Method>.")
    return method


def module_name(file: Path) -> str:
    """Name under which the file of a method is imported."""
    return f"fedsift.methods.{file.stem}" if file.parent == HERE else f"fedsift_method_{file.stem}"


def _stem(name: str) -> str:
    return name.replace("-", "_").replace("+", "__")


def _name(file: Path) -> str:
    return file.stem.replace("__", "+").replace("_", "-")
