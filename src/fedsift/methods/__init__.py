"""Methods: one file each, found by name (`loss-ocsvm` is `loss_ocsvm.py`). `docs/methods.md` shows how to add one."""
