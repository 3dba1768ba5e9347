"""The one typed, closed-world configuration model, and how it is read from YAML files."""

from fedsift.config.load import load
from fedsift.config.model import Config

__all__ = ["Config", "load"]
