"""The rules of the incentive spec as they are written there, slow and obvious."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import median


def density(v: float, b: float) -> float:
    return v / b if b > 0 else float("inf")


def threshold(
    v: Sequence[float], b: Sequence[float], budget: float, variant: str = "T1", delta: float = 1.0
) -> float | None:
    """Section 5: add the next densest sample while b_k <= v_k B' / (V(J) + v_k)."""
    ranked = sorted(range(len(v)), key=lambda k: -density(v[k], b[k]))
    J: list[int] = []
    for k in ranked:
        V = sum(Fraction(v[j]) for j in [*J, k])
        # The nearest doubles of numbers on the margin lie on either side of it.
        if Fraction(b[k]) * V > Fraction(v[k]) * Fraction(budget) * (1 + Fraction(1, 10**12)):
            break
        J.append(k)
    if not J:
        return None
    rho = sum(v[j] for j in J) / (delta * budget)
    if variant == "T2" and len(J) < len(ranked):
        rho = max(rho, density(v[ranked[len(J)]], b[ranked[len(J)]]))
    return rho


def winners(
    q: Sequence[float], b: Sequence[float], rho: Sequence[float], min_num: int, max_num: int, rule: str
) -> list[int]:
    """Section 6: all with d >= rho, at most max_num of them by density; fewer than min_num: nobody, or filled up."""
    ranked = sorted(range(len(q)), key=lambda i: (-density(q[i], b[i]), i))
    Q = [i for i in ranked if density(q[i], b[i]) >= rho[i]]
    if len(Q) >= min_num:
        return sorted(Q[:max_num])
    if rule == "skip" or len(ranked) < min_num:
        return []
    others = [i for i in ranked if i not in Q]
    return sorted([*Q, *others[: min_num - len(Q)]])


def critical(
    i: int, q: Sequence[float], b: Sequence[float], rho: Sequence[float], min_num: int, max_num: int, rule: str
) -> float:
    """The highest bid in [0, 1] with which i wins, by bisection; -1 if it never does."""

    def wins(bid: float) -> bool:
        return i in winners(q, [*b[:i], bid, *b[i + 1 :]], rho, min_num, max_num, rule)

    if not wins(0.0):
        return -1.0
    if wins(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if wins(middle) else (low, middle)
    return low


def median_price(i: int, q: Sequence[float], b: Sequence[float], rho: float, min_num: int, max_num: int) -> float:
    """The closed form of section 6 for rule F and one threshold for all."""
    d = sorted((density(q[k], b[k]) for k in range(len(q)) if k != i), reverse=True)
    rho_star = median([rho, *(d[k - 1] if k <= len(d) else 0.0 for k in (max_num, min_num))])
    return min(q[i] / rho_star, 1.0) if rho_star > 0 else 1.0


def in_budget(prices: Sequence[float], left: float) -> list[int]:
    """Which of these, in the order of arrival, are paid out of what is left."""
    paid = []
    for k, p in enumerate(prices):
        if p <= left:
            paid.append(k)
            left -= p
    return paid
