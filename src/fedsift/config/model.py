"""The configuration model: every key, its type, its range and what it means.

Field descriptions are the reference page (``docs/configuration.md``) and the JSON schema; both are generated from here.
Decisions that the papers leave open are fields with the default chosen in ``docs/decisions.md``.
"""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from fedsift.section import Round, Section, Share, Slug

Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What NumPy's legacy generator takes too."""


def _inside(folder: str) -> str:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise ValueError("it must be a folder inside the project; make that a link if the files have to lie elsewhere")
    return str(path)


Inside = Annotated[str, AfterValidator(_inside)]
"""A folder of outputs: specifications, resume points and logs mirror its path."""


class OwnSet(Section):
    """A data set of the user's own: a folder with `train.npz` and `test.npz`."""

    npz: str = Field(
        description="Folder with train.npz and test.npz, each x [N,H,W] or [N,H,W,C] uint8 and y [N] integers."
    )


class Data(Section):
    """Where data come from and where they are kept."""

    folder: str = Field("data", description="Folder for downloaded files (`raw/`) and prepared arrays (`arrays/`).")
    mirrors: list[str] = Field(
        [], description="Folders or http(s) addresses tried before the official ones; layout `<mirror>/<set>/<file>`."
    )
    accept_unverified: list[Slug] = Field(
        [], description="Sets to use although the catalog could not verify their sha256 (`verified: false`)."
    )
    own: dict[Slug, OwnSet] = Field({}, description="Data sets of your own, by name.")


class Partition(Section):
    """Common to all ways of sharing samples out to clients."""

    seed: Seed | Literal["run"] = Field(
        10, description="Seed of the split; `run`: the run's own seed, so that every seed has a split of its own."
    )
    samples: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Use only this many training samples, drawn by the seed; all where absent. For `power-law`, "
        "of the pool of training and test images.",
    )


class IidPartition(Partition):
    """Shuffle, then equal parts."""

    scheme: Literal["iid"]


class DirichletPartition(Partition):
    """FedML's Dirichlet split by label (spec of MTAE for CIFAR-10)."""

    scheme: Literal["dirichlet"]
    alpha: Annotated[float, Field(gt=0)] = Field(0.5, description="Concentration; small is very unequal.")
    min_samples: Annotated[int, Field(ge=1)] = Field(
        10, description="The draw is repeated until every client has as many."
    )
    max_draws: Annotated[int, Field(ge=1)] = Field(
        10_000, description="After as many draws the split is refused with the reason, so that it always ends."
    )


class PowerLawPartition(Partition):
    """The LEAF/FedProx MNIST split: users of two labels and log-normal sizes, merged into clients (spec of MTAE)."""

    scheme: Literal["power-law"]
    users: Annotated[int, Field(ge=1)] = Field(1000, description="Users before merging; user i goes to client i mod K.")
    labels_per_user: Annotated[int, Field(ge=1)] = Field(
        2, description="User u owns labels u, u+1, ... modulo the classes."
    )
    first: Annotated[int, Field(ge=1)] = Field(5, description="Samples of each of its labels that every user gets.")
    sigma: Annotated[float, Field(gt=0)] = Field(2.0, description="Standard deviation of the log-normal weights.")
    train_share: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.9, description="Share of a user's samples for training; the rest of all users is the test set."
    )


def _range(ends: list[int]) -> list[int]:
    if len(ends) != 2 or ends[0] > ends[1]:
        raise ValueError("a range is the least and the most, such as [1, 5]")
    return ends


Range = Annotated[list[Annotated[int, Field(ge=1)]], AfterValidator(_range)]


class ShardPartition(Partition):
    """Sort by label, cut into shards, deal shards to clients (McMahan's pathological split; EMFedAvg's 200 x 300)."""

    scheme: Literal["shards"]
    shards: Annotated[int, Field(ge=1)] = Field(
        200, description="Number of shards; K divides it, and shards x shard_size must be all training samples."
    )
    shard_size: Annotated[int, Field(ge=1)] = Field(300, description="Samples in a shard.")
    per_client: Range | None = Field(
        None,
        description="Least and most shards of a client, such as [1, 5], for clients of unequal size; K need not divide "
        "`shards` then. Absent: all alike.",
    )


AnyPartition = Annotated[
    IidPartition | DirichletPartition | PowerLawPartition | ShardPartition, Field(discriminator="scheme")
]

Scope = Literal["first", "random", "user-first", "user-random"]
SCOPE = (
    "Which samples: `first` in the data set's order (refused where that is sorted by class), `random` over the whole "
    "set; `user-first` in the user's own order and `user-random` inside each user (a client before merging)."
)


class NoNoise(Section):
    """Clean data."""

    kind: Literal["none"]


class SampleNoise(Section):
    """Common to noise that hits single samples."""

    rate: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.4, description="Share of the training samples that become noisy."
    )
    scope: Scope = Field("first", description=SCOPE)
    seed: Seed | Literal["run"] = Field(10, description="Seed of the noise; `run`: the run's own seed.")


class ClosedSetNoise(SampleNoise):
    """The image stays, the label becomes another class."""

    kind: Literal["closed-set"]
    rule: Literal["paper", "uniform"] = Field(
        "paper",
        description="`paper`: draw r uniformly; the new label is r, or |y-1| where r = y (so that class is twice as "
        "likely). `uniform`: every other class alike.",
    )


class OpenSetNoise(SampleNoise):
    """The label stays, the image comes from another data set."""

    kind: Literal["open-set"]
    source: Slug = Field(description="Data set that the foreign images come from.")
    order: Literal["file", "random"] = Field("file", description="Foreign images in file order or drawn at random.")
    exclude_classes: list[int] = Field([], description="Labels of the source that must not be used.")


def _pair(pair: list[int]) -> list[int]:
    if len(pair) != 2:
        raise ValueError("a pair is the old label and the new one, such as [7, 1]")
    return pair


Pair = Annotated[list[Annotated[int, Field(ge=0)]], AfterValidator(_pair)]
"""The label of a source class and the one that its samples get."""


class TargetedNoise(SampleNoise):
    """Poisoned labels: the image stays, and samples of chosen classes get the label that an attacker wants."""

    kind: Literal["targeted"]
    pairs: list[Pair] = Field(
        min_length=1, description="Pairs [old label, new label], such as [[7, 1], [4, 9]]; an old label stands once."
    )
    rate: Share = Field(
        0.4, description="Share of the samples of each old label (for scopes of users: of each user's) that is hit."
    )
    scope: Scope = Field(
        "first", description="Which samples of an old label; as in closed-set noise, except that `first` always works."
    )


class BadClients(Section):
    """Whole clients that free-ride or hold wrong labels (spec of IAOFL)."""

    kind: Literal["bad-clients"]
    free_riders: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="Share of clients that do not train.")
    mislabelled: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="Share of clients with wrong labels.")
    mislabel_rate: Share = Field(0.3, description="Share of a mislabelled client's samples with a wrong label.")
    seed: Seed | Literal["run"] = Field(10, description="Seed of the noise; `run`: the run's own seed.")


AnyNoise = Annotated[NoNoise | ClosedSetNoise | OpenSetNoise | TargetedNoise | BadClients, Field(discriminator="kind")]


class MtaeObjective(Section):
    """L = lambda_rec MSE + lambda_cls CE (spec of MTAE, 1.3). Only for the mtae-* models."""

    lambda_rec: Annotated[float, Field(ge=0)] = Field(
        1.0, description="Weight of the reconstruction error (mean square)."
    )
    lambda_cls: Annotated[float, Field(ge=0)] = Field(0.05, description="Weight of the cross-entropy.")


class Training(Section):
    """Local training of one client in one round."""

    epochs: Annotated[int, Field(ge=1)] = Field(5, description="Passes over the client's samples in a round.")
    batch_size: Annotated[int, Field(ge=1)] = Field(64, description="Samples in a step; a short last batch is kept.")
    lr: Annotated[float, Field(gt=0)] = Field(0.1, description="Step size of SGD, constant.")
    momentum: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="Momentum of SGD; starts at zero every round."
    )
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="L2 penalty added to every gradient.")
    objective: MtaeObjective | None = Field(
        None, description="The multi-task loss of the mtae-* models; absent: cross-entropy alone."
    )
    augment: Literal["none", "one-of-six"] = Field(
        "none", description="`one-of-six`: the CIFAR-10 augmentation of the MTAE paper (spec 2.1)."
    )
    reshuffle: Literal["round", "epoch", "never", "none"] = Field(
        "round",
        description="When a client's order and augmentation are drawn anew: once a round for all its epochs, every "
        "epoch, or never (one order per client for the whole run). `none`: the partition's own order.",
    )
    free_rider_noise: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="Standard deviation of the noise that free riders add to the model that they send back; 0: they "
        "send it back as it is.",
    )
    engine: Literal["reference"] = Field("reference", description="`reference`: a plain loop over clients.")


class Sampling(Section):
    """Which clients take part in a round, where the method does not choose itself."""

    share: Share = Field(0.1, description="Share of the clients in a round; at least one.")
    rule: Literal["by-round", "by-seed"] = Field(
        "by-round",
        description="`by-round`: NumPy's legacy generator seeded with the round, as FedML does, so that all methods "
        "and seeds see the same clients; `by-seed`: a stream of the run's seed.",
    )


class Evaluation(Section):
    """When and how the global model is tested."""

    every: Annotated[int, Field(ge=1)] = Field(10, description="Rounds r with r mod every = 0, and the last one.")
    count_from: Literal[0, 1] = Field(
        0, description="Number of the first round in that rule: with 1 the model is tested after 10, 20, ... rounds."
    )
    batch_size: Annotated[int, Field(ge=1)] = Field(1000, description="Test images in one forward pass.")
    ssim_images: Annotated[int, Field(ge=1)] = Field(
        500,
        description="The SSIM of the reconstructions is the mean over the first so many test images; it takes longer "
        "than the forward pass on a GPU.",
    )
    validation: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="Share of the test set that the server keeps for judging clients; the model is tested on the rest. "
        "Absent: both on all of it.",
    )
    weight_divergence: bool = Field(
        False,
        description="Also log |w - w_SGD| / |w_SGD|, where w_SGD starts from the same model and takes one client's "
        "local steps on samples of all clients of the round (spec of EMFedAvg, 3). Costs one client more.",
    )


def _in_pairs(permutations: int) -> int:
    if permutations % 2:
        raise ValueError("it must be even, since every order is taken with its reverse")
    return permutations


class Contributions(Section):
    """What the participants of some rounds contribute, by several schemes (spec of EMFedAvg, 5)."""

    methods: list[Slug] = Field(min_length=1, description="Methods of the experiment whose rounds are looked at.")
    rounds: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1,
        description="Rounds r, from 0 to T; round r begins with the model after r rounds. The methods' phases are cut "
        "there, so that other rounds mean that these methods are trained anew.",
    )
    budget: Annotated[float, Field(gt=0)] = Field(1.0, description="B(t), what the participants of a round share.")
    alpha: Annotated[float, Field(gt=0)] = Field(1.0, description="Weight of the EMD in EMFedAvg's contribution.")
    b: Annotated[float, Field(ge=0)] = Field(2.0, description="Bias of EMFedAvg's contribution.")
    form: Literal["linear", "inverse"] = Field(
        "linear", description="EMFedAvg's contribution: `linear`: max(0, b - alpha EMD); `inverse`: alpha / EMD + b."
    )
    nearest: Annotated[float, Field(gt=0, lt=2)] = Field(
        0.01, description="A smaller EMD counts as this one in the inverse form, which is infinite at 0."
    )
    value: Literal["accuracy", "cross-entropy"] = Field(
        "accuracy",
        description="v(S), of the average of the updates of S on the validation images: the accuracy, or minus the "
        "mean cross-entropy.",
    )
    validation: Annotated[int, Field(ge=1)] = Field(1000, description="Validation images, the first of the test set.")
    exact_up_to: Annotated[int, Field(ge=0, le=20)] = Field(
        10,
        description="Most participants of a round for the exact Shapley value, which values 2^m coalitions; with more "
        "it is estimated.",
    )
    permutations: Annotated[int, Field(ge=4), AfterValidator(_in_pairs)] = Field(
        200, description="Joining orders for the estimate, half of them the reverse of the others."
    )


class Tables(Section):
    """Methods that stand in tables of their own, as a paper prints them."""

    title: str = Field(description="What the methods have in common; added to the heading.")
    methods: list[Slug] = Field(min_length=1, description="Methods of the experiment, in the tables' order.")


class Experiment(Section):
    """One grid: a data set and model, crossed with noises, client counts, methods and seeds."""

    paper: Literal["mtae", "iaofl", "emfedavg"] = Field(description="The paper that it reproduces.")
    title: str = Field(description="Heading of its tables.")
    dataset: Slug = Field(description="Data set from the catalog or from data.own.")
    model: Slug = Field(description="Model by name; section Models lists them.")
    partition: AnyPartition = Field(description="How samples are shared out to clients.")
    noises: dict[Slug, AnyNoise] = Field(
        min_length=1, description="Noise settings by name; each is a table of its own."
    )
    clients: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, description="Client counts K.")
    methods: list[Slug] = Field(min_length=1, description="Methods by name, built in or from the section `methods`.")
    tables: dict[Slug, Tables] = Field(
        {},
        description="Groups of methods by name: accuracy and F1 then have one table a group instead of one of all "
        "methods.",
    )
    seeds: list[Seed] = Field(min_length=1, description="Seeds of the runs.")
    rounds: Round = Field(description="Rounds T, counted from 0 to T-1.")
    sampling: Sampling = Field(Sampling(), description="Which clients take part in a round.")
    training: Training = Field(Training(), description="Local training.")
    evaluation: Evaluation = Field(Evaluation(), description="Test of the global model.")
    contributions: Contributions | None = Field(
        None, description="Contributions of the participants of some rounds; absent: none are worked out."
    )
    margin: Annotated[float, Field(gt=0)] = Field(
        0.01,
        description="Largest difference from the paper's value that still counts as agreement (share, not per cent).",
    )


class Config(Section):
    """The whole configuration."""

    scale: Slug = Field(description="Name of the scale; results and reports lie in a folder of that name.")
    results: Inside = Field("results", description="Folder for partitions, noise tables and trained phases.")
    reports: Inside = Field("reports", description="Folder for tables, figures and the report.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="`auto`: a CUDA device where there is one. `cuda` refuses to fall back to the CPU."
    )
    checkpoint_seconds: Annotated[float, Field(gt=0)] = Field(
        60.0, description="A running phase saves its resume point at least this often (at the end of a round)."
    )
    checkpoint_rounds: Round = Field(10, description="... and at least every so many rounds.")
    data: Data = Field(Data(), description="Data sets and mirrors.")
    method_folders: list[str] = Field([], description="Folders with methods of your own, one file a method.")
    methods: dict[Slug, dict[str, Any]] = Field(
        {},
        description="Options by method name. With `is: NAME` the entry is a variant of the method NAME under a "
        "name of its own.",
    )
    experiments: dict[Slug, Experiment] = Field(min_length=1, description="The experiments by name.")
