"""`python -m fedsift`."""

from fedsift.cli import main

main()
