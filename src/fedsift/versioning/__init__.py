"""Content decides what is current: the workflow, DVC and Git agree on what a folder holds."""
