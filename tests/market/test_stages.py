import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.market.stages import Stages


@given(st.integers(1, 10**6), st.floats(1e-3, 1e6))
def test_budgets_add_up_and_ends_ascend(T: int, B: float) -> None:
    stages = Stages.of(T, B)
    assert sum(stages.B) == B
    assert stages.e[-1] == T
    assert stages.e[0] == 1
    assert list(stages.e) == sorted(set(stages.e))
    assert len(stages.e) == len(stages.B) == stages.L
    assert 2 ** (stages.L - 1) <= T < 2**stages.L
    for l in range(1, stages.L):
        assert stages.B[l] == sum(stages.B[:l])


@given(st.integers(1, 300))
def test_every_round_is_in_the_stage_that_ends_next(T: int) -> None:
    stages = Stages.of(T, 1.0)
    for t in range(1, T + 1):
        l = stages.of_round(t)
        assert (stages.e[l - 2] if l > 1 else 0) < t <= stages.e[l - 1]


@pytest.mark.parametrize(
    ("T", "B", "ends", "budgets"),
    [
        (1, 3.0, [1], [3.0]),
        (5, 1.0, [1, 2, 5], [1 / 4, 1 / 4, 1 / 2]),
        (100, 64.0, [1, 3, 6, 12, 25, 50, 100], [1, 1, 2, 4, 8, 16, 32]),
        (512, 256.0, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], [0.5, 0.5, 1, 2, 4, 8, 16, 32, 64, 128]),
        (512, 320.0, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], [0.625, 0.625, 1.25, 2.5, 5, 10, 20, 40, 80, 160]),
    ],
)
def test_vectors(T: int, B: float, ends: list[int], budgets: list[float]) -> None:
    stages = Stages.of(T, B)
    assert list(stages.e) == ends
    assert list(stages.B) == budgets


@pytest.mark.parametrize("t", [0, 6])
def test_a_round_outside(t: int) -> None:
    with pytest.raises(ValueError, match="rounds go from 1 to 5"):
        Stages.of(5, 1.0).of_round(t)
