from pathlib import Path

import pytest
from laboratory.made import NAIVE, one

from fedsift.errors import FedsiftError
from fedsift.laboratory.contenders import contenders
from fedsift.market.iaofl import Iaofl
from fedsift.market.tender import Tender


def test_names_and_options() -> None:
    made = contenders(
        ["iaofl", "wide=iaofl", "ospb"], ["delta=2", "wide.max_num=20", "wide.rule=fill", "ospb.leave_own_out=true"]
    )
    assert [one.name for one in made] == ["iaofl", "wide", "ospb"]
    first, wide, ospb = (one.options.model_dump() for one in made)
    assert (first["max_num"], wide["max_num"], wide["rule"], ospb["leave_own_out"]) == (8, 20, "fill", True)
    assert {first["delta"], wide["delta"], ospb["delta"]} == {2.0}
    assert isinstance(made[1].new(Tender(4, 2.0, 3)), Iaofl)


def test_a_mechanism_from_a_file() -> None:
    made = one(NAIVE, "max_num=3")
    assert (made.name, made.mechanism, type(made.new(Tender(4, 2.0, 3))).__name__) == ("naive", NAIVE, "Naive")
    assert one(f"other={NAIVE}").name == "other"


@pytest.mark.parametrize(
    ("arguments", "settings", "sentence"),
    [
        (["iaolf"], [], "no mechanism 'iaolf'; did you mean 'iaofl'?"),
        (["x=vcg"], [], "no mechanism 'vcg'; known: iaofl, ospb, ospm."),
        (["ospb", "ospb"], [], "two mechanisms are called 'ospb'; give one another name: NAME=ospb."),
        (
            ["My Rule=ospb"],
            [],
            "'My Rule' cannot name a mechanism; write NAME=MECHANISM, where NAME holds lower-case letters, "
            "digits, '+', '.' and '-', a letter or digit first.",
        ),
        (["gone.py"], [], "gone.py: no such file; name a mechanism (iaofl, ospb, ospm) or an existing file."),
        (["iaofl"], ["min_num"], "--set min_num: it has the form KEY=VALUE or NAME.KEY=VALUE."),
        (["iaofl"], ["ospb.delta=2"], "--set ospb.delta=2: no mechanism is called 'ospb' here; one of: iaofl."),
        (["iaofl"], ["min_nun=3"], "iaofl: unknown key 'min_nun'; did you mean 'min_num'?"),
        (
            ["iaofl", "ospm"],
            ["max_num=3"],
            "ospm: unknown key 'max_num'; known here: budget, delta, groups, threshold.",
        ),
        (["iaofl"], ["min_num=0"], "iaofl: 'min_num' is 0; allowed: integer from 1."),
        (["iaofl"], ["min_num=2.5"], "iaofl: 'min_num' is 2.5; allowed: integer from 1."),
        (["iaofl"], ["delta=NaN"], "iaofl: 'delta' is nan; it must be finite."),
        (["iaofl"], ["rule=fil"], "iaofl: 'rule' is 'fil'; did you mean 'fill'?"),
        (["iaofl"], ["min_num=9"], "iaofl: min_num 9 is above max_num 8; lower it or raise max_num."),
    ],
)
def test_what_is_refused(arguments: list[str], settings: list[str], sentence: str) -> None:
    with pytest.raises(FedsiftError) as error:
        contenders(arguments, settings)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "import nothing_there",
            ": the mechanism cannot be imported: ModuleNotFoundError: No module named 'nothing_there'.",
        ),
        (
            "MECHANISM = 3",
            ": it must end with MECHANISM = <a subclass of fedsift.market.mechanism.Mechanism>, not 3.",
        ),
        (
            "from fedsift.market.mechanism import Mechanism as MECHANISM",
            ": Mechanism needs Options = <a subclass of fedsift.section.Section>.",
        ),
    ],
)
def test_files_that_hold_none(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "rule.py"
    path.write_text(text)
    with pytest.raises(FedsiftError) as error:
        contenders([str(path)], [])
    assert str(error.value) == f"{path}{sentence}"
