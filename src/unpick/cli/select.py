"""`unpick select`."""

from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from unpick.arguments import Arguments, fail, load_function, parse, write

if TYPE_CHECKING:
    from unpick.estimator.members import Member
    from unpick.estimator.selection import BetaScore
    from unpick.runs import Run

SURE, FAIRLY = 0.9, 0.5  # share of active latents that other restarts find again


@dataclass(frozen=True)
class SelectOptions:
    """How to compare.

    Attributes:
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        model: FILE.py:function that made the networks, if they are your own; this file is run.
    """

    device: str = "auto"
    model: str = ""


def select(arguments: Arguments) -> None:
    """Choose among finished runs without labels: which beta and which restart to keep."""
    if not arguments or {"-h", "--help"} & {*arguments}:
        write(SELECT_HELP)
        if arguments:
            return
        fail("select: which runs? `unpick select runs/NAME...`")
    cut = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    folders = [Path(word) for word in dict.fromkeys(arguments[:cut])]
    options = parse(SelectOptions, arguments[cut:], "unpick select")
    runs = _read(folders, options)
    from unpick.estimator.finished_runs import measure_runs
    from unpick.estimator.selection import score_betas, select_beta, select_restart

    members = measure_runs(runs, runs[0].config.data.load())
    scores = score_betas(members)
    chosen = select_beta(scores)
    group = [k for k, member in enumerate(members) if member.beta == chosen.beta]
    kept = group[select_restart([members[k] for k in group])]
    _show(runs, members, scores, kept)
    write(_verdict(runs[kept], chosen, len(group)))


def _read(folders: list[Path], options: SelectOptions) -> "list[Run]":
    from unpick.objectives import BetaVAE
    from unpick.runs import read

    factory = load_function(options.model) if options.model else None
    runs: list[Run] = []
    others: list[str] = []
    for folder in folders:
        run = read(folder, options.device, factory) if folder.is_dir() else None
        if run is None:
            fail(f"{folder} is not a finished run; train it to the end, or leave it out")
        if type(run.config.objective) is not BetaVAE or run.config.model.posterior != "diagonal":
            others.append(f"{folder} ({run.config.label()})")
            continue
        runs.append(run)
    if others:
        write(f"left out, since only beta-VAEs are compared: {', '.join(others)}")
    if len(runs) < 2:
        fail(f"select needs two beta-VAEs with a diagonal posterior or more, got {len(runs)}")
    settings = [replace(run.config, seed=0, objective=BetaVAE()) for run in runs]
    for run, setting in zip(runs, settings, strict=True):
        if setting != settings[0]:
            fail(
                f"runs must differ in beta and seed only: {run.path} and {runs[0].path} differ "
                "in data, model, optimiser, steps or batch"
            )
    return runs


def _show(
    runs: "list[Run]", members: "list[Member]", scores: "list[BetaScore]", kept: int
) -> None:
    """Print a row a run, by beta."""
    from rich.console import Console

    from unpick.estimator.selection import agreement, udr_of
    from unpick.pages import Table, print_table

    rows: list[tuple[str, ...]] = []
    for score in scores:
        behind = f"{score.behind:.2f} ± {score.behind_error:.2f}"
        rows.append((f"beta {score.beta:.3g}: {behind}", *[""] * 5))
        group = [k for k, member in enumerate(members) if member.beta == score.beta]
        own = [members[k] for k in group]
        for k, share, udr in zip(group, agreement(own), udr_of(own), strict=True):
            m = members[k]
            again = f"{share.sum():.1f}" if len(group) > 1 else "-"
            numbers = (f"{m.evidence.mean():.2f}", f"{int(m.active.sum())}", again)
            agreed, dto = ("-" if isnan(v) else f"{v:.2f}" for v in (udr, m.orthogonality))
            mark = "* " if k == kept else ""
            rows.append((f"{mark}{runs[k].path.name}", *numbers, agreed, dto))
    columns = ("run", "evidence", "active", "again", "UDR", "DtO")
    caption = "Beside beta: nats of evidence behind the best beta. Evidence: ELBO of test "
    caption += "observations in nats. Again: active latents that other restarts at the same beta "
    caption += "have, too (rank correlation of 0.9 or more). DtO: over chance, 0 is aligned. The "
    caption += "star marks the run to keep."
    print_table(Table(caption, columns, tuple(rows)), Console())


def _verdict(run: "Run", chosen: "BetaScore", restarts: int) -> str:
    """Which run to keep, and how sure that is."""
    keep = f"Keep {run.path} (beta {chosen.beta:.3g}, seed {run.config.seed})."
    if restarts < 2:
        return f"{keep} Not sure: there is one restart at this beta; train two more."
    if chosen.active == 0:
        return f"{keep} Not sure: no latent is active; train longer, or with a smaller beta."
    share = chosen.found_again / chosen.active
    word = "Sure" if share >= SURE else "Fairly sure" if share >= FAIRLY else "Not sure"
    if restarts < 3 and word == "Sure":
        word = "Fairly sure"
    found = f"{restarts} restarts find {chosen.found_again:.1f} of {chosen.active} active latents"
    advice = "" if share >= FAIRLY else " Train longer, or do not interpret single latents."
    return f"{keep} {word}: {found} again.{advice}"


SELECT_HELP = """usage: unpick select RUN RUN [RUN ...] [OPTIONS]

Ranks beta-VAEs of one data set and model without labels, and says which run to keep and how sure
that is. Betas whose evidence on test observations is far below the best at a larger beta code
noise. Of the others the beta counts at which restarts find the most latents again, and of those
the one with the most evidence. docs/nonlinear-pca.md gives the reasons and says when it fails.

  --device D    auto (a GPU if there is one; the default), cpu, cuda, cuda:1, mps
  --model FILE.py:function
                made the networks of the runs, if they are your own; this file is run

  unpick select runs/synth-lin-*"""
