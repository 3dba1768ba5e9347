"""The transport solver against the linear program as it is written in the paper."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fedsift.emd.labels import label_emd
from fedsift.emd.signatures import signature_emd

Array = np.ndarray[Any, np.dtype[np.float64]]


def program(w_p: Array, w_q: Array, d: Array) -> float:
    """The slow twin: cost / flow of the linear program, constraint by constraint."""
    m, n = d.shape
    rows = np.kron(np.eye(m), np.ones(n))
    columns = np.kron(np.ones(m), np.eye(n))
    total = min(w_p.sum(), w_q.sum())
    solved = linprog(
        d.flatten(),
        A_ub=np.vstack([rows, columns]),
        b_ub=np.concatenate([w_p, w_q]),
        A_eq=np.ones((1, m * n)),
        b_eq=[total],
        method="highs",
    )
    assert solved.success, solved.message
    return float(solved.fun / total)


@st.composite
def signatures(draw: st.DrawFn, metric: bool = False) -> tuple[Array, ...]:
    """Two or, with a metric on points of a plane, three signatures; weights may be 0 and totals differ."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [draw(st.integers(1, 6)) for _ in range(3 if metric else 2)]
    whole = draw(st.booleans())
    weights = []
    for size in sizes:
        w = rng.integers(0, 5, size).astype(float) if whole else rng.random(size)
        w[rng.integers(size)] += 1
        weights.append(w / w.sum() if metric else w)
    if not metric:
        return (*weights, rng.integers(0, 4, sizes).astype(float) if whole else rng.random(sizes))
    points = [rng.normal(size=(size, 2)) for size in sizes]
    between = [
        np.linalg.norm(points[i][:, None] - points[j][None], axis=2) for i, j in ((0, 1), (1, 2), (0, 2), (0, 0))
    ]
    return (*weights, *between)


@given(signatures())
@settings(deadline=None, max_examples=200)
def test_equals_the_linear_program_and_its_flow_is_feasible(given: tuple[Array, ...]) -> None:
    w_p, w_q, d = given
    found = signature_emd(w_p, w_q, d)
    assert found.distance == pytest.approx(program(w_p, w_q, d), abs=1e-9)
    assert (found.flow >= 0).all()
    assert (found.flow.sum(axis=1) <= w_p + 1e-9).all()
    assert (found.flow.sum(axis=0) <= w_q + 1e-9).all()
    assert found.flow.sum() == pytest.approx(min(w_p.sum(), w_q.sum()))
    assert (d * found.flow).sum() / found.flow.sum() == pytest.approx(found.distance)


@given(signatures(metric=True))
@settings(deadline=None, max_examples=100)
def test_is_a_metric_where_the_ground_distance_is_one_and_totals_are_equal(given: tuple[Array, ...]) -> None:
    p, q, r, d_pq, d_qr, d_pr, d_pp = given
    pq, qr, pr = (signature_emd(*case).distance for case in ((p, q, d_pq), (q, r, d_qr), (p, r, d_pr)))
    assert signature_emd(p, p, d_pp).distance == pytest.approx(0, abs=1e-9)
    assert pq >= 0
    assert signature_emd(q, p, d_pq.T).distance == pytest.approx(pq, abs=1e-9)
    assert pr <= pq + qr + 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
@settings(deadline=None)
def test_with_unit_ground_distance_it_is_half_the_label_distance(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 50, (3, classes)) * rng.integers(0, 2, (3, classes))
    counts[:, 0] += 1
    p = counts.sum(axis=0) / counts.sum()
    unit = 1 - np.eye(classes)
    found = [2 * signature_emd(row / row.sum(), p, unit).distance for row in counts]
    assert found == pytest.approx(label_emd(counts, p), abs=1e-9)


def test_by_hand() -> None:
    # Rubner's picture: two heaps on a line, one hole between them at distances 1 and 2.
    near, far = [[1.0], [2.0]], [[1.0, 3.0]]
    assert signature_emd([1, 1], [2], near).distance == pytest.approx(1.5)
    # The hole takes one unit only, so the nearer heap goes and the other stays where it is.
    partial = signature_emd([1, 1], [1], near)
    assert partial.distance == pytest.approx(1)
    assert partial.flow.tolist() == pytest.approx(np.array([[1.0], [0.0]]))
    assert signature_emd([4], [1, 1], far).distance == pytest.approx(2)
    assert signature_emd([4], [1, 5], far).distance == pytest.approx((1 + 3 * 3) / 4)


def test_units_of_weight_do_not_matter_and_those_of_distance_do() -> None:
    rng = np.random.default_rng(0)
    w_p, w_q, d = rng.random(7), rng.random(5), rng.random((7, 5))
    one = signature_emd(w_p, w_q, d).distance
    assert signature_emd(1e9 * w_p, 1e9 * w_q, d).distance == pytest.approx(one)
    assert signature_emd(1e-9 * w_p, 1e-9 * w_q, d).distance == pytest.approx(one)
    assert signature_emd(w_p, w_q, 1e9 * d).distance == pytest.approx(1e9 * one)
    assert signature_emd(w_p, w_q, 1e-9 * d).distance == pytest.approx(1e-9 * one)


def test_many_bins() -> None:
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(300)), np.sort(rng.random(300))
    found = signature_emd(np.ones(300), np.ones(300), np.abs(x[:, None] - y[None]))
    assert found.distance == pytest.approx(np.abs(x - y).mean())


@pytest.mark.parametrize(
    ("w_p", "w_q", "d", "words"),
    [
        ([-1, 2], [1], [[0], [1]], "w_p must hold finite weights of at least 0"),
        ([1, 2], [np.nan], [[0], [1]], "w_q must hold finite weights"),
        ([1, 2], [np.inf], [[0], [1]], "w_q must hold finite weights"),
        ([1e308, 1e308], [1], [[0], [1]], "w_p are too large"),
        ([0, 0], [1], [[0], [1]], "w_p are all 0"),
        ([], [1], np.zeros((0, 1)), "w_p must be a row of at least one weight"),
        ([[1, 2]], [1], [[0], [1]], "w_p must be a row"),
        ([1, 2], [1], [[0, 1]], r"d has shape \(1, 2\), but the weights ask for \(2, 1\)"),
        ([1, 2], [1], [[0], [-1]], "d must hold finite distances"),
        ([1, 2], [1], [[0], [np.nan]], "d must hold finite distances"),
    ],
)
def test_refuses_what_is_no_transport_problem(w_p: Any, w_q: Any, d: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        signature_emd(w_p, w_q, d)
    assert str(caught.value).endswith(".")
