"""Errors that a user meets: one sentence that names the file, key or cell and the next step.

The command line prints the sentence alone; the traceback goes to the log.
"""


class FedsiftError(Exception):
    """Something the user can put right. ``str(error)`` is the whole message."""


class ConfigError(FedsiftError):
    """The configuration asks for something unknown or impossible."""


class DataFileError(FedsiftError):
    """A data file does not hold what it should."""
