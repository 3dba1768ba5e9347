"""Users of few labels and log-normal sizes: the MNIST split of LEAF and FedProx, drawn anew from a seed.

Li et al. 2020, "Federated Optimization in Heterogeneous Networks", appendix C.1. The file that FedML
distributes was drawn without a seed, so only its law can be met, not its bits (MTAE paper, MNIST).
"""

import numpy as np

from fedsift.errors import FedsiftError


def power_law(
    labels: np.ndarray, users: int, labels_per_user: int, first: int, sigma: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Positions of each user, shuffled, of the pool with ``labels``.

    User u owns the labels u, u+1, ... (modulo their number), gets ``first`` samples of each and then its part
    of what is left, in proportion to log-normal(0, ``sigma``) weights and rounded down; what rounding leaves
    belongs to nobody. Samples of a label are handed out in the data set's order.

    Raises:
        FedsiftError: too few labels, or too few samples of one.
    """
    names, codes = np.unique(labels, return_inverse=True)
    if labels_per_user > len(names):
        raise FedsiftError(f"a user cannot own {labels_per_user} labels of {len(names)}; lower `labels_per_user`.")
    owned = (np.arange(users)[:, None] + np.arange(labels_per_user)) % len(names)
    reserved = np.bincount(owned.ravel(), minlength=len(names)) * first
    spare = np.bincount(codes) - reserved
    if (spare < 0).any():
        worst = int(spare.argmin())
        raise FedsiftError(
            f"the first {first} samples of every label for {users} users take {reserved[worst]} of label "
            f"{names[worst]} and there are {spare[worst] + reserved[worst]}; lower `users` or `first`."
        )
    weights = rng.lognormal(0.0, sigma, owned.shape)
    totals = np.bincount(owned.ravel(), weights.ravel())
    # Rounded down, the extras of a label cannot add up to more than its spare samples.
    extra = (spare[owned] * weights / totals[owned]).astype(np.int64)

    stock = [np.flatnonzero(codes == code) for code in range(len(names))]
    hands: list[list[np.ndarray]] = [[] for _ in range(users)]
    for amounts in (np.full_like(extra, first), extra):
        for hand, own, wanted in zip(hands, owned, amounts, strict=True):
            for label, amount in zip(own, wanted, strict=True):
                hand.append(stock[label][:amount])
                stock[label] = stock[label][amount:]
    return [rng.permutation(np.concatenate(hand)) for hand in hands]
