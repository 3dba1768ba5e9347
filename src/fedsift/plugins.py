"""Import a Python file of the user's own, a method or a mechanism."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_module(file: Path, name: str) -> ModuleType:
    """Run ``file`` as the module ``name``.

    Raises:
        Exception: whatever the file raises; the module is forgotten then.
    """
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return loaded
