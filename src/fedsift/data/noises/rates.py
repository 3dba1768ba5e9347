"""Requested and achieved noise, per client and class."""

import numpy as np
import pandas as pd

ALL = -1
MIXED = "mixed"


def rates_table(
    client: np.ndarray, label: np.ndarray, noisy: np.ndarray, requested: np.ndarray, behaviour: np.ndarray
) -> pd.DataFrame:
    """The rates table, sorted by client and label.

    Args:
        client: client [n] of every training sample.
        label: its clean label [n].
        noisy: whether it is noisy [n].
        requested: share [n] requested of samples like it.
        behaviour: behaviour per client [K].

    Returns:
        client, label (int32; -1 stands for all), behaviour (of the client; ``mixed`` for all clients where
        they differ), samples, noisy (int32), requested, achieved (shares, float64; where samples
        differ in ``requested``, it is their mean). Classes that a client does not hold have no row.
    """
    rows = pd.DataFrame({"client": client, "label": label, "noisy": noisy, "requested": requested})
    parts = [rows.assign(**dict.fromkeys(total, ALL)) for total in ([], ["label"], ["client"], ["client", "label"])]
    table = (
        pd.concat(parts)
        .groupby(["client", "label"], as_index=False)
        .agg(
            samples=("noisy", "size"),
            noisy=("noisy", "sum"),
            requested=("requested", "mean"),
            low=("requested", "min"),
            high=("requested", "max"),
        )
    )
    # The mean of equal numbers can differ from them in the last bit.
    table["requested"] = table["requested"].where(table["low"] != table["high"], table["low"])
    table["achieved"] = table["noisy"] / table["samples"]
    everyone = behaviour[0] if (behaviour == behaviour[0]).all() else MIXED
    # Client -1, all together, finds the last entry.
    named = np.append(behaviour, everyone)[table["client"].to_numpy()]
    table.insert(2, "behaviour", pd.Series(named, dtype="str"))
    whole = ["client", "label", "samples", "noisy"]
    return table.drop(columns=["low", "high"]).astype(dict.fromkeys(whole, np.int32))
