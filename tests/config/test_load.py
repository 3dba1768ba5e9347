"""What is wrong with a configuration is said in one sentence that begins with file and line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedsift.config import load
from fedsift.errors import ConfigError

RULE = "a name holds lower-case letters, digits, '+', '.' and '-', a letter or digit first."
SEED = "integer from 0 and below 2**32"


def test_the_base_loads(desk: Any) -> None:
    experiment = desk.load().experiments["one"]
    assert (experiment.clients, experiment.training.lr, experiment.training.epochs) == ([50, 20], 0.5, 5)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        # unknown keys, at every depth
        ("scale: quick", "scale: quick\ndevise: cpu", "config.yaml:2: unknown key 'devise'; did you mean 'device'?"),
        ("rounds:", "round:", "config.yaml:22: unknown key 'experiments.one.round'; did you mean 'rounds'?"),
        ("alpha:", "alfa:", "config.yaml:10: unknown key 'experiments.one.partition.alfa'; did you mean 'alpha'?"),
        ("rate:", "rates:", "config.yaml:15: unknown key 'experiments.one.noises.dirty.rates'; did you mean 'rate'?"),
        (
            "lr: 0.5",
            "objective: {lamda_cls: 1}",
            "config.yaml:24: unknown key 'experiments.one.training.objective.lamda_cls'; did you mean 'lambda_cls'?",
        ),
        (
            "min_samples: 5",
            "qqq: 5",
            "config.yaml:11: unknown key 'experiments.one.partition.qqq'; "
            "known here: alpha, max_draws, min_samples, samples, scheme, seed.",
        ),
        # wrong types and ranges
        ("rounds: 100", "rounds: many", "config.yaml:22: 'experiments.one.rounds' is 'many'; allowed: integer from 1."),
        ("rounds: 100", "rounds: 0", "config.yaml:22: 'experiments.one.rounds' is 0; allowed: integer from 1."),
        ("rounds: 100", "rounds: 1.0", "config.yaml:22: 'experiments.one.rounds' is 1.0; allowed: integer from 1."),
        ("rounds: 100", "rounds: yes", "config.yaml:22: 'experiments.one.rounds' is True; allowed: integer from 1."),
        ("rounds: 100", "rounds:", "config.yaml:22: 'experiments.one.rounds' is empty; allowed: integer from 1."),
        ("rounds: 100", "rounds: [1]", "config.yaml:22: 'experiments.one.rounds' is a list; allowed: integer from 1."),
        ("[50, 20]", "[50, x]", "config.yaml:17: 'experiments.one.clients.1' is 'x'; allowed: integer from 1."),
        ("[50, 20]", "50", "config.yaml:17: 'experiments.one.clients' is 50; "
         "allowed: list of integer from 1, at least 1 of them."),
        ("[50, 20]", "[]", "config.yaml:17: 'experiments.one.clients' is an empty list; "
         "allowed: list of integer from 1, at least 1 of them."),
        ("      - loss-ocsvm", "      - 7", "config.yaml:20: 'experiments.one.methods.1' is 7; allowed: name."),
        ("rate: 0.4", "rate: 1", "config.yaml:15: 'experiments.one.noises.dirty.rate' is 1; "
         "allowed: number above 0 and below 1."),
        ("lr: 0.5", "lr: .inf", "config.yaml:24: 'experiments.one.training.lr' is inf; it must be finite."),
        ("lr: 0.5", "lr: .nan", "config.yaml:24: 'experiments.one.training.lr' is nan; it must be finite."),
        ("lr: 0.5", "lr: '0.5'", "config.yaml:24: 'experiments.one.training.lr' is '0.5'; allowed: number above 0."),
        ("title: One", "title: 2026-01-01", None),
        ("title: One", "title: 5", "config.yaml:5: 'experiments.one.title' is 5; allowed: text."),
        ("paper: mtae", "paper: mtea", "config.yaml:4: 'experiments.one.paper' is 'mtea'; did you mean 'mtae'?"),
        ("paper: mtae", "paper: x", "config.yaml:4: 'experiments.one.paper' is 'x'; "
         "allowed: `mtae` or `iaofl` or `emfedavg`."),
        # seeds
        ("alpha: 0.5", "seed: run", None),
        ("alpha: 0.5", "seed: runs", "config.yaml:10: 'experiments.one.partition.seed' is 'runs'; did you mean 'run'?"),
        ("alpha: 0.5", "seed: 1.5", f"config.yaml:10: 'experiments.one.partition.seed' is 1.5; allowed: {SEED} "
         f"or `run`."),
        ("alpha: 0.5", "seed: -1", f"config.yaml:10: 'experiments.one.partition.seed' is -1; allowed: {SEED} or "
         f"`run`."),
        ("[0, 1]", "[4294967296]", f"config.yaml:21: 'experiments.one.seeds.0' is 4294967296; allowed: {SEED}."),
        # missing keys and discriminators
        ("    rounds: 100\n", "", "config.yaml:3: 'experiments.one.rounds' is missing; add it "
         "(integer from 1; see docs/configuration.md)."),
        ("scale: quick\n", "", "config.yaml:1: 'scale' is missing; add it (name; see docs/configuration.md)."),
        ("      scheme: dirichlet\n", "", "config.yaml:8: 'experiments.one.partition.scheme' is missing; "
         "add one of: iid, dirichlet, power-law, shards."),
        ("        kind: closed-set\n", "", "config.yaml:13: 'experiments.one.noises.dirty.kind' is missing; "
         "add one of: none, closed-set, open-set, targeted, bad-clients."),
        ("scheme: dirichlet", "scheme: dirichlt", "config.yaml:9: 'experiments.one.partition.scheme' is 'dirichlt'; "
         "did you mean 'dirichlet'?"),
        ("kind: closed-set", "kind: 3", "config.yaml:14: 'experiments.one.noises.dirty.kind' is '3'; "
         "one of: none, closed-set, open-set, targeted, bad-clients."),
        ("training:\n      lr: 0.5", "training: 0.5",
         "config.yaml:23: 'experiments.one.training' is 0.5; allowed: section."),
        # names
        ("  one:", "  One:", f"config.yaml:3: 'experiments' has the name 'One'; {RULE}"),
        ("dirty:", "../x:", f"config.yaml:13: 'experiments.one.noises' has the name '../x'; {RULE}"),
        ("scale: quick", "scale: ../up", "config.yaml:1: 'scale' is '../up'; allowed: name."),
        # folders of outputs
        ("scale: quick", "scale: quick\nresults: /far/away", "config.yaml:2: 'results' is '/far/away'; it must be a "
         "folder inside the project; make that a link if the files have to lie elsewhere."),
        ("scale: quick", "scale: quick\nreports: ''", "config.yaml:2: 'reports' is ''; it must be a "
         "folder inside the project; make that a link if the files have to lie elsewhere."),
        # YAML
        ("scale: quick", "scale: quick\nscale: paper", "config.yaml:2: the key 'scale' stands twice; keep one."),
        ("lr: 0.5", "lr: 0.5\n      lr: 0.1", "config.yaml:25: the key 'lr' stands twice; keep one."),
        ("dirty:", "5:", "config.yaml:13: the key 5 is no text to YAML; quote it."),
        ("dirty:", "on:", "config.yaml:13: the key on is no text to YAML; quote it."),
        ("dirty:", "[a]:", "config.yaml:13: a list cannot be a key; keys are names."),
        ("rounds: 100", "rounds: !!int five",
         "config.yaml:22: the tag tag:yaml.org,2002:int has no meaning here; remove it."),
        ("rounds: 100", "rounds: !!python/name:os.system x",
         "config.yaml:22: the tag tag:yaml.org,2002:python/name:os.system has no meaning here; remove it."),
        ("rounds: 100", f"rounds: {'9' * 5000}", "config.yaml:22: a number of 5000 digits; write a smaller one."),
        ("scale: quick", "scale: &a [*a]", "config.yaml:1: this part contains itself through an alias; write it out."),
        ("scale: quick", "scale: *a", "config.yaml:1: not valid YAML: found undefined alias 'a'."),
        ("scale: quick", "scale: [", "config.yaml:3: not valid YAML: expected ',' or ']', but got ':'."),
        ("scale: quick", "\tscale: quick",
         "config.yaml:1: not valid YAML: found character '\\t' that cannot start any token."),
        ("scale: quick", "scale: quick\n---", "config.yaml:2: not valid YAML: but found another document."),
    ],
)  # fmt: skip
def test_one_wrong_thing(desk: Any, old: str, new: str, sentence: str | None) -> None:
    if sentence is None:
        desk.load((old, new))
    else:
        assert desk.refusal((old, new)) == sentence


def test_a_misspelt_key_is_said_before_the_missing_one(refusal: Callable[..., str]) -> None:
    sentence = refusal(("dataset:", "data_set:"))
    assert sentence == "config.yaml:6: unknown key 'experiments.one.data_set'; did you mean 'dataset'?"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "config.yaml:1: 'scale' is missing; add it (name; see docs/configuration.md)."),
        ("# nothing\n", "config.yaml:1: 'scale' is missing; add it (name; see docs/configuration.md)."),
        ("- a\n", "config.yaml:1: expected keys and values, found a list."),
        ("\n\njust words\n", "config.yaml:3: expected keys and values, found a single value."),
        ("[" * 5000, "config.yaml:1: nested too deeply; a configuration has a few levels."),
    ],
)
def test_files_that_are_no_configuration(refusal: Callable[..., str], text: str, sentence: str) -> None:
    assert refusal(text=text) == sentence


def test_aliases_of_aliases_do_not_eat_the_memory(refusal: Callable[..., str]) -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(40))
    assert "the aliases stand for over 1,000,000 values; use fewer." in refusal(text=text)


def test_files_that_cannot_be_read(desk: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^nowhere.yaml: no such configuration file; run fedsift in the project"):
        load(["nowhere.yaml"])
    with pytest.raises(ConfigError, match=r": Is a directory; a configuration is a readable file\.$"):
        load([tmp_path])
    Path("latin.yaml").write_bytes("scale: größe".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"^latin.yaml: byte 9 is not UTF-8; save the file as UTF-8 text\.$"):
        load(["latin.yaml"])
    Path("null.yaml").write_text("scale: a\0b")
    with pytest.raises(ConfigError, match=r"^null.yaml: not valid YAML: unacceptable character #x0000: [^\n]*$"):
        load(["null.yaml"])


def test_long_values_are_shortened(refusal: Callable[..., str]) -> None:
    assert len(refusal(("rounds: 100", f"rounds: {'x' * 10_000}"))) < 200


def test_scientific_numbers_are_numbers(desk: Any) -> None:
    for text in ("1e-3", "1E-3", "1.e-3", "0.1e-2", ".1e-2"):
        assert desk.load(("lr: 0.5", f"lr: {text}")).experiments["one"].training.lr == 0.001


def test_folders_are_written_in_one_way(desk: Any) -> None:
    assert desk.load(("scale: quick", "scale: quick\nresults: ./a//b/")).results == "a/b"


def test_anchors_and_merge_keys(desk: Any) -> None:
    two = (
        "  two:\n    <<: &shared {paper: mtae, title: Two, dataset: digits, model: mtae-digits, rounds: 50}\n"
        "    partition: {scheme: iid}\n    noises: {clean: {kind: none}}\n"
        "    clients: &counts [5]\n    methods: [fedavg]\n    seeds: [0]\n"
    )
    three = (
        "  three:\n    <<: *shared\n    title: Three\n    partition: {scheme: iid}\n    noises: {clean: {kind: none}}\n"
        "    clients: *counts\n    methods: [fedavg]\n    seeds: [0]\n"
    )
    loaded = desk.load(text=desk.base + two + three)
    assert [loaded.experiments[name].title for name in ("two", "three")] == ["Two", "Three"]
    assert loaded.experiments["three"].rounds == 50
    # A merged key is blamed where it is written, a replaced one where it replaces.
    assert desk.refusal(("rounds: 50", "rounds: 0"), text=desk.base + two + three).startswith("config.yaml:26: ")
    assert desk.refusal(("title: Three", "title: 3"), text=desk.base + two + three).startswith("config.yaml:34: ")


def test_overlays_merge_and_experiments_are_replaced(desk: Any) -> None:
    loaded = desk.laid_over(
        "data: {folder: here, mirrors: [a, b]}\nmethods: {loss-ocsvm: {start: 0.5, refit_every: 2}}\n",
        "data: {mirrors: [c]}\nmethods: {loss-ocsvm: {start: 0.6}, top-loss: {rate: 0.1}}\n",
    )
    assert (loaded.data.folder, loaded.data.mirrors) == ("here", ["c"])
    assert loaded.methods == {"loss-ocsvm": {"start": 0.6, "refit_every": 2}, "top-loss": {"rate": 0.1}}
    other = desk.base.split("experiments:\n")[1].replace("one:", "other:")
    assert list(desk.laid_over(f"experiments:\n{other}").experiments) == ["other"]


def test_an_overlay_changes_one_user_of_an_alias_alone(desk: Any) -> None:
    anchors = "methods: {loss-ocsvm: &same {start: 0.5}, loss-iforest: *same}\n"
    loaded = desk.laid_over(anchors, "methods: {loss-ocsvm: {start: 0.6}}\n")
    assert loaded.methods == {"loss-ocsvm": {"start": 0.6}, "loss-iforest": {"start": 0.5}}


def test_lines_point_into_the_file_that_is_to_blame(desk: Any) -> None:
    def blamed(*overlays: str) -> str:
        with pytest.raises(ConfigError) as caught:
            desk.laid_over(*overlays)
        return str(caught.value).partition(": ")[0]

    assert blamed("\ncheckpoint_rounds: 0\n") == "1.yaml:2"
    assert blamed("data: {folder: x}\n", "data:\n  mirrors: x\n") == "2.yaml:2"
    assert blamed("data:\n  mirrors: x\n", "data: {folder: x}\n") == "1.yaml:2"
    assert blamed("experiments:\n  new:\n    paper: mtae\n") == "1.yaml:2"
    assert blamed("experiments: {}\n") == "1.yaml:1"
    assert blamed("methods: {loss-ocsvm:\n  {start: 0}}\n") == "1.yaml:2"


def test_settings_of_the_command_line_win_and_are_blamed(desk: Any) -> None:
    Path("config.yaml").write_text(desk.base)
    assert load(["config.yaml"], {"device": "cpu"}).device == "cpu"
    with pytest.raises(ConfigError, match=r"^command line: 'device' is 'gpu'; did you mean 'cpu'\?$"):
        load(["config.yaml"], {"device": "gpu"})


# Whatever happens to one key: it loads, or one sentence says what is wrong.

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2), st.just(10**40),
)  # fmt: skip


def _keys(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in ((*path, key), *_keys(inner, (*path, key)))]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_mutations_load_or_are_refused_in_one_line(tmp_path: Path, data: Any) -> None:
    root = Path(__file__).parents[2]
    tree = yaml.safe_load((root / "config.yaml").read_text())
    tree["methods"] = {"loss-ocsvm": {"start": 0.4}, "late": {"is": "loss-ocsvm", "start": 60}}
    tree["data"] = {"folder": "data", "mirrors": [], "own": {}}
    tree = json.loads(json.dumps(tree))
    path = data.draw(st.sampled_from(_keys(tree)))
    holder = tree
    for key in path[:-1]:
        holder = holder[key]
    match data.draw(st.sampled_from(["drop", "rename", "retype"])):
        case "drop":
            del holder[path[-1]]
        case "rename" if isinstance(holder, dict):
            holder[data.draw(st.text(min_size=1, max_size=8))] = holder.pop(path[-1])
        case _:
            holder[path[-1]] = data.draw(ODD)
    file = tmp_path / "mutant.yaml"
    file.write_text(yaml.safe_dump(tree, allow_unicode=True))
    try:
        load([file])
    except ConfigError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert sentence.startswith(f"{file}:")
        assert sentence[-1] in ".?"
        assert len(sentence) < len(str(file)) + 500
