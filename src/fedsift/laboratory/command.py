"""`fedsift market`: mechanisms on one log, in files, in a table, or as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from fedsift.errors import FedsiftError
from fedsift.laboratory.contenders import Contender, contenders
from fedsift.laboratory.lies import lies
from fedsift.laboratory.logs import Drawn, Given, tender_and_log
from fedsift.laboratory.play import play
from fedsift.laboratory.results import Experiment, write_files
from fedsift.laboratory.truthfulness import probes


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for.

    Attributes:
        mechanisms: see `contenders`.
        settings: see `contenders`.
        source: of the bids.
        rounds: T, None as in `tender_and_log`; so are ``clients`` and ``budget``.
        clients: N.
        budget: B.
        seed: of everything that is drawn.
        audit: bidders that are probed; 0: no audit.
        lie: clients that lie over the whole log; 0: no such experiment.
    """

    mechanisms: Sequence[str]
    settings: Sequence[str]
    source: Drawn | Given
    rounds: int | None
    clients: int | None
    budget: float | None
    seed: int
    audit: int
    lie: int


def run(wanted: Wanted, out: Path, as_json: bool) -> None:
    """Run the experiment, write its files to ``out`` and say what came of it.

    Raises:
        FedsiftError: a mechanism, an option or a log that is none, or a folder that cannot be made.
    """
    those = contenders(wanted.mechanisms, wanted.settings)
    tender, log = tender_and_log(wanted.source, wanted.rounds, wanted.clients, wanted.budget, wanted.seed)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedsiftError(f"{out}: {error.strerror}; --out takes a folder that can be written to.") from error
    made = Experiment(tender, wanted.seed, wanted.source.note(), log)
    fill(made, those, wanted)
    # matplotlib takes a second to import, and none of it is needed to refuse a log.
    from fedsift.laboratory.plots import write_plots

    drawn = write_plots(out, made.played, made.log, made.tender, [lie for found in made.lies for lie in found])
    files = write_files(out, made, drawn, wanted.source.path if isinstance(wanted.source, Given) else None)
    if as_json:
        print(json.dumps(made.summary(), indent=1))
    else:
        show(made, out, files)


def fill(made: Experiment, those: Sequence[Contender], wanted: Wanted) -> None:
    """Run every mechanism on the experiment's log."""
    for one in those:
        made.played.append(play(one, made.log, made.tender, made.seed))
        if wanted.audit:
            made.probes.append(probes(made.played[-1], made.log, made.tender, made.seed, wanted.audit))
        if wanted.lie:
            made.lies.append(lies(one, made.log, made.tender, made.seed, wanted.lie, _tracked))


def show(made: Experiment, out: Path, files: Sequence[str]) -> None:
    """The table and the findings on the terminal."""
    console = Console()
    tender = made.tender
    console.print(
        f"{len(made.log):,} bids of {tender.N:,} clients in {tender.T:,} rounds, budget {tender.B:,g}; "
        f"with all bids known, one price for all buys quality {made.offline.share:,.1f}, "
        f"and nothing buys more than {made.offline.bound:,.1f}",
        highlight=False,
    )
    sheet = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    sheet.add_column("mechanism", overflow="fold", min_width=min(20, max(map(len, made.names))))
    heads = ("hires", "trained\nrounds", "empty\nrounds", "spend", "value", "regret:\none price", "regret:\nbound")
    for head in (*heads, "mean\nprice", "mean\np - b"):
        sheet.add_column(head, justify="right", no_wrap=True)
    for row in made.figures():
        counts = [f"{row[name]:,}" for name in ("hires", "trained_rounds", "empty_rounds")]
        sums = ("spend", "value", "regret_to_proportional_share", "regret_to_upper_bound")
        means = ("mean_price", "mean_overpayment")
        sheet.add_row(
            row["mechanism"],
            *counts,
            *(f"{row[name]:,.{0 if row[name] >= 10000 else 1}f}" for name in sums),
            *("–" if row[name] is None else f"{row[name]:.3f}" for name in means),
        )
    console.print(sheet)
    for sentence in made.sentences():
        console.print(sentence, highlight=False)
    console.print(f"{out}: {', '.join(files)}", highlight=False)


def _tracked(clients: Sequence[int], what: str) -> Iterable[int]:
    console = Console(stderr=True)
    if not console.is_terminal:
        return clients
    return track(clients, f"lies: {what}", console=console, transient=True)
