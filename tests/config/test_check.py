"""Parts that do not fit together are refused before any graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedsift.config import check

Refusal = Callable[..., str]

DIRICHLET = "      scheme: dirichlet\n      alpha: 0.5\n      min_samples: 5\n"
DIRTY = "        kind: closed-set\n        rate: 0.4\n        scope: random\n"


def noise(text: str) -> tuple[str, str]:
    return DIRTY, "".join(f"        {line}\n" for line in text.split("; "))


def split(text: str) -> tuple[str, str]:
    return DIRICHLET, "".join(f"      {line}\n" for line in text.split("; "))


def methods(text: str) -> tuple[str, str]:
    return "scale: quick\n", f"scale: quick\nmethods:\n{text}"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        # what does not exist
        ([("dataset: digits", "dataset: digit")], "config.yaml:6: experiment 'one': no data set 'digit'; "
         "did you mean 'digits'?"),
        ([("model: mtae-digits", "model: mtae-digit")], "config.yaml:7: experiment 'one': no model 'mtae-digit'; "
         "did you mean 'mtae-digits'?"),
        ([("- loss-ocsvm", "- loss-ocvsm")], "config.yaml:20: no method 'loss-ocvsm'; did you mean 'loss-ocsvm'?"),
        # data and model
        ([("model: mtae-digits", "model: mtae-mnist")], "config.yaml:7: experiment 'one': model 'mtae-mnist' "
         "takes images "
         "of (28, 28, 1), but 'digits' has (8, 8, 1); use mtae-digits."),
        ([("dataset: digits", "dataset: mnist"), ("model: mtae-digits", "model: cnn-small"),
          ("lr: 0.5", "objective: {}")], "config.yaml:24: experiment 'one': model 'cnn-small' has no decoder; "
         "remove training.objective."),
        ([("lr: 0.5", "augment: one-of-six")], "config.yaml:24: experiment 'one': the augmentation needs colour "
         "images, "
         "'digits' is grey."),
        # doubles
        ([("[50, 20]", "[50, 20, 50]")], "config.yaml:17: experiment 'one': clients holds 50 twice; keep one."),
        ([("- loss-ocsvm", "- fedavg")], "config.yaml:20: experiment 'one': methods holds fedavg twice; keep one."),
        ([("[0, 1]", "[1, 1]")], "config.yaml:21: experiment 'one': seeds holds 1 twice; keep one."),
        ([("seeds: [0, 1]", "tables: {a: {title: A, methods: [fedavg, loss-ocvsm]}}\n    seeds: [0, 1]")],
         "config.yaml:21: experiment 'one': table 'a' has the method 'loss-ocvsm', which the experiment does not run; "
         "did you mean 'loss-ocsvm'?"),
        ([("seeds: [0, 1]", "tables: {a: {title: A, methods: [fedavg, fedavg]}}\n    seeds: [0, 1]")],
         "config.yaml:21: experiment 'one': tables.a.methods holds fedavg twice; keep one."),
        # splits
        ([("[50, 20]", "[20, 290]")], "config.yaml:17: experiment 'one': 290 clients of at least 5 samples each need "
         "1450, but there are 1442; use fewer clients."),
        ([split("scheme: iid"), ("[50, 20]", "[1443]")], "config.yaml:15: experiment 'one': 1443 clients of at least 1 "
         "samples each need 1443, but there are 1442; use fewer clients."),
        ([split("scheme: iid; samples: 9999")], "config.yaml:10: experiment 'one': partition.samples is 9999, "
         "but 'digits' has 1442."),
        ([split("scheme: power-law; users: 30")], "config.yaml:16: experiment 'one': 50 clients cannot be merged "
         "from 30 users."),
        ([split("scheme: power-law; labels_per_user: 11")], "config.yaml:10: experiment 'one': users cannot own "
         "more than "
         "the 10 labels."),
        ([split("scheme: shards; shards: 30; shard_size: 40; samples: 1200"), ("[50, 20]", "[20]")],
         "config.yaml:18: experiment 'one': 30 shards cannot be dealt evenly to 20 clients."),
        ([split("scheme: shards; shards: 103; shard_size: 14; per_client: [3, 5]"), ("[50, 20]", "[50]")],
         "config.yaml:12: experiment 'one': 103 shards cannot be dealt to 50 clients with 3 to 5 each."),
        ([split("scheme: shards; shards: 100; shard_size: 14")], "config.yaml:10: experiment 'one': 100 shards "
         "of 14 are "
         "1400 samples, but there are 1442; change shards or shard_size, or set samples: 1400."),
        ([split("scheme: shards; shards: 100; shard_size: 15")], "config.yaml:10: experiment 'one': 100 shards "
         "of 15 are "
         "1500 samples, but there are 1442; change shards or shard_size."),
        # noises
        ([split("scheme: iid"), ("[50, 20]", "[1442]"), ("scope: random", "scope: user-random")],
         "config.yaml:13: experiment 'one': 40% noise in each of 1442 users with 1.0 samples on average rounds "
         "to no noise "
         "at all; use a whole-set scope, fewer clients or a higher rate."),
        ([split("scheme: power-law; users: 1442"), ("scope: random", "scope: user-random"), ("[50, 20]", "[2]")],
         "config.yaml:14: experiment 'one': 40% noise in each of 1442 users with 1.1 samples on average rounds "
         "to no noise "
         "at all; use a whole-set scope, fewer clients or a higher rate."),
        ([noise("kind: open-set; source: digits")], "config.yaml:15: experiment 'one': the noise comes from 'digits', "
         "the data set itself."),
        ([noise("kind: open-set; source: digitz")], "config.yaml:15: experiment 'one': no data set 'digitz'; "
         "did you mean 'digits'?"),
        ([noise("kind: open-set; source: photos; exclude_classes: [0, 99]")], "config.yaml:16: experiment 'one': "
         "'photos' has no class 99."),
        ([("dataset: digits", "dataset: mnist"), ("model: mtae-digits", "model: mtae-mnist"),
          noise("kind: open-set; source: digits")], "config.yaml:15: experiment 'one': 40% of 60000 samples need 24000 "
         "foreign images, but 'digits' has 1442; lower the rate or use another source."),
        ([noise("kind: bad-clients; free_riders: 0.6; mislabelled: 0.5")], "config.yaml:13: experiment 'one': "
         "free_riders "
         "and mislabelled are more than all clients; lower one of them."),
        ([noise("kind: bad-clients; free_riders: 0.01")], "config.yaml:15: experiment 'one': free_riders: 0.01 of 20 "
         "clients rounds to none; raise it or set it to 0."),
        # methods and their options
        ([("rounds: 100", "rounds: 10"), methods("  loss-ocsvm: {start: 10}\n")], "config.yaml:22: experiment 'one': "
         "method 'loss-ocsvm' begins at round 10, but the experiment has rounds 0 to 9; lower its start or add "
         "rounds."),
        ([("rounds: 100", "rounds: 1")], "config.yaml:20: experiment 'one': method 'loss-ocsvm' begins at round 1, "
         "but the experiment has rounds 0 to 0; lower its start or add rounds."),
        ([methods("  loss-ocsvm:\n    strat: 5\n")], "config.yaml:4: unknown key 'methods.loss-ocsvm.strat'; "
         "did you mean 'start'?"),
        ([methods("  fedavg:\n    mu: 5\n")], "config.yaml:4: unknown key 'methods.fedavg.mu'; known here: nothing."),
        *[([methods(f"  loss-ocsvm: {{start: {value}}}\n")], f"config.yaml:3: 'methods.loss-ocsvm.start' is {shown}; "
           "allowed: integer from 1 or number above 0 and below 1.")
          for value, shown in (("0", "0"), ("1.0", "1.0"), ("1.5", "1.5"), ("-0.1", "-0.1"), ("true", "True"),
                               ("'40'", "'40'"), ("", "empty"))],
        ([methods("  mine: {start: 5}\n")], "config.yaml:3: no method 'mine'; known: fedavg, loss-iforest, loss-ocsvm, "
         "loss-threshold, oracle, random-drop, top-loss. Or say with `is:` what it is a variant of."),
        ([methods("  mine: {is: los-ocsvm}\n")], "config.yaml:3: no method 'los-ocsvm'; did you mean 'loss-ocsvm'?"),
        ([methods("  mine: {is: ../cli}\n")], "config.yaml:3: 'methods.mine.is' is '../cli'; allowed: name."),
        ([methods("  oracle: {is: loss-ocsvm}\n")], "config.yaml:3: 'oracle' is a method itself; name the variant "
         "otherwise."),
        ([("scale: quick\n", "scale: quick\nmethod_folders:\n- here\n- gone\n")], "config.yaml:4: there is no folder "
         "'gone'; make it or remove it."),
        # data sets of one's own
        ([("scale: quick\n", "scale: quick\ndata:\n  own:\n    mine: {npz: sets}\n")], None),
    ],
)  # fmt: skip
def test_what_cannot_work(refusal: Refusal, changes: list[tuple[str, str]], sentence: str | None) -> None:
    Path("here").mkdir()
    known = refusal(*changes)
    if sentence is None:
        assert known.startswith("config.yaml:4: ")
        assert "train.npz is missing: data set mine needs train.npz and test.npz" in known
    else:
        # The list of methods grows.
        assert known == sentence or ("; known: " in sentence and known.startswith(sentence.partition("; known: ")[0]))


@pytest.mark.parametrize("start", ["1", "99", "0.01", "0.99", "1.0e-3"])
def test_starts_inside_the_rounds(desk: Any, start: str) -> None:
    assert desk.load(methods(f"  loss-ocsvm: {{start: {start}}}\n")).methods["loss-ocsvm"]["start"] == float(start)


@pytest.mark.parametrize(
    "changes",
    [
        [split("scheme: iid"), ("[50, 20]", "[1442]")],
        [split("scheme: shards; shards: 100; shard_size: 14; samples: 1400")],
        [split("scheme: shards; shards: 103; shard_size: 14; per_client: [1, 9]")],
        [split("scheme: power-law; users: 50")],
        [noise("kind: open-set; source: photos; exclude_classes: [0]")],
        [noise("kind: bad-clients; free_riders: 0.5; mislabelled: 0.5")],
        [noise("kind: none")],
    ],
)
def test_the_edge_of_what_works(desk: Any, changes: list[tuple[str, str]]) -> None:
    desk.load(*changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pairs: [[7, 1], [10, 2]]", "config.yaml:15: experiment 'one': 'digits' has no class 10."),
        ("pairs: [[7, 11]]", "config.yaml:15: experiment 'one': 'digits' has no class 11."),
        ("pairs: [[7, 7]]", "config.yaml:15: experiment 'one': the pair [7, 7] changes nothing; give it another new "
         "label."),
        ("pairs: [[7, 1], [7, 2]]", "config.yaml:15: experiment 'one': two pairs begin with the label 7; a sample can "
         "get one new label only."),
        ("pairs: [[7, 1]]; rate: 0.003", "config.yaml:16: experiment 'one': 0.3% of a class with 144.2 samples on "
         "average rounds to no noise at all; raise the rate."),
        ("pairs: [[7, 1, 2]]", "config.yaml:15: 'experiments.one.noises.dirty.pairs.0' is a list; a pair is the old "
         "label and the new one, such as [7, 1]."),
        ("pairs: [[7, -1]]", "config.yaml:15: 'experiments.one.noises.dirty.pairs.0.1' is -1; allowed: integer from "
         "0."),
        ("pairs: []", "config.yaml:15: 'experiments.one.noises.dirty.pairs' is an empty list; allowed: list of list of "
         "integer from 0, at least 1 of them."),
        ("rate: 0.5", "config.yaml:13: 'experiments.one.noises.dirty.pairs' is missing; add it (list of list of "
         "integer from 0, at least 1 of them; see docs/configuration.md)."),
        ("pairs: [[7, 1]]; rate: 1.5", "config.yaml:16: 'experiments.one.noises.dirty.rate' is 1.5; allowed: number "
         "above 0 and up to 1."),
        ("pairs: [[7, 1]]; source: photos", "config.yaml:16: unknown key 'experiments.one.noises.dirty.source'; "
         "known here: kind, pairs, rate, scope, seed."),
    ],
)  # fmt: skip
def test_targeted_noise_that_cannot_work(refusal: Refusal, text: str, sentence: str) -> None:
    assert refusal(noise(f"kind: targeted; {text}")) == sentence


@pytest.mark.parametrize("text", ["pairs: [[7, 1]]", "pairs: [[7, 1], [1, 7], [9, 1]]; rate: 1.0; scope: user-random"])
def test_targeted_noise(desk: Any, text: str) -> None:
    desk.load(noise(f"kind: targeted; {text}"))


def test_a_soft_start_after_the_full_one(refusal: Refusal) -> None:
    sentence = refusal(methods("  loss-iforest-soft: {first: 0.5}\n"), ("- loss-ocsvm", "- loss-iforest-soft"))
    assert sentence == (
        "config.yaml:22: experiment 'one': the lineage of method 'loss-iforest-soft' cannot be worked out: "
        "its option first is round 50, after start, round 40; lower it."
    )


def own_set(shape: tuple[int, int] = (8, 8)) -> None:
    Path("sets").mkdir(exist_ok=True)
    for part in ("train", "test"):
        images = np.zeros((100, *shape), np.uint8)
        np.savez(f"sets/{part}.npz", x=images, y=np.arange(100) % 10)


def test_a_data_set_of_ones_own(desk: Any) -> None:
    own_set()
    own = ("scale: quick\n", "scale: quick\ndata: {own: {mine: {npz: sets}}}\n")
    changes = [own, ("dataset: digits", "dataset: mine"), ("[50, 20]", "[5]")]
    assert check.known_sets(desk.load(*changes))["mine"].train == 100
    sentence = desk.refusal(*changes[:2], ("[50, 20]", "[20]"), ("min_samples: 5", "min_samples: 6"))
    assert "20 clients of at least 6 samples each need 120, but there are 100; use fewer clients." in sentence
    own_set((9, 9))
    assert "takes images of (8, 8, 1), but 'mine' has (9, 9, 1); no model takes these." in desk.refusal(*changes)


METHOD = """\
from fedsift.methods.base import Method, Step

class Mine(Method):
    @classmethod
    def lineage(cls, options, rounds):
        {body}

METHOD = Mine
"""


def mine(file: str, text: str, folder: str = "own") -> tuple[str, str]:
    Path(folder).mkdir(exist_ok=True)
    Path(folder, file).write_text(text)
    return "scale: quick\n", f"scale: quick\nmethod_folders: [{folder}]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1/0", "own/mine.py: the method cannot be imported: ZeroDivisionError: division by zero."),
        ("def", "own/mine.py: the method cannot be imported: SyntaxError: invalid syntax (mine.py, line 1)."),
        ("METHOD = 5", "own/mine.py: it must end with METHOD = <a subclass of fedsift.methods.base.Method>."),
        (METHOD.format(body="return 1 / 0"), "the lineage of method 'mine' cannot be worked out: division by zero."),
        (METHOD.format(body="return None"), "the lineage of method 'mine' cannot be worked out: "),
        (METHOD.format(body="return [Step('fedavk', {}, 5)]"), "no method 'fedavk'; did you mean 'fedavg'?."),
        (METHOD.format(body="return [Step('fedavg', {'mu': 1}, 5)]"), "unknown key 'fedavg.mu'; known here: nothing."),
        (
            METHOD.format(body="return [Step('fedavg', {}, 5), Step('fedavg', {}, 5)]"),
            "method 'mine' begins at round 5",
        ),
        (METHOD.format(body="return [Step('fedavg', {}, 100)]"), "method 'mine' begins at round 100"),
    ],
)
def test_a_broken_method_of_ones_own(desk: Any, text: str, words: str) -> None:
    sentence = desk.refusal(mine("mine.py", text), ("- loss-ocsvm", "- mine"))
    assert sentence.startswith("config.yaml:")
    assert words in sentence


def test_a_method_of_ones_own_may_not_replace_another(desk: Any) -> None:
    sentence = desk.refusal(mine("loss_ocsvm.py", METHOD.format(body="return []")))
    assert "own/loss_ocsvm.py: there is already a method 'loss-ocsvm', in " in sentence


def test_methods_in_two_projects_of_one_process_do_not_mix(desk: Any) -> None:
    for folder, start in (("one", 5), ("two", 200)):
        change = mine("mine.py", METHOD.format(body=f"return [Step('fedavg', {{}}, {start})]"), folder)
        if start == 5:
            desk.load(change, ("- loss-ocsvm", "- mine"))
        else:
            assert "begins at round 200" in desk.refusal(change, ("- loss-ocsvm", "- mine"))
