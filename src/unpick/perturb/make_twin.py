"""Make a perturbed twin: train restarts, choose among them, train the change, save it."""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, Perturbed
from unpick.data.dataset import Store
from unpick.data.twins import load_pixels, reflect, save_twin
from unpick.devices import describe_processor, threads
from unpick.perturb.config import PerturbConfig
from unpick.perturb.contest import Contest, Losses, train_in_slices
from unpick.perturb.pictures import draw_pictures
from unpick.perturb.select_restarts import check_score, score_restarts, select_restarts
from unpick.runs import Runner, disk, load_together, make
from unpick.runs.checkpoint import (
    checkpoints,
    drop_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from unpick.runs.executor import is_small
from unpick.runs.lock import locked
from unpick.runs.stop import checked, stoppable
from unpick.training.config import to_json, without_paths
from unpick.training.progress import Bars, ProgressUpdate

REFIT = 1000  # batches that refit the decoders
COMPARED = 2000  # pairs of observations whose changes are compared


def perturb(config: PerturbConfig, runner: Runner, *, path: str = "") -> Perturbed:
    """Make the perturbed twin of a data set (Zietlow 2022, chapter 4), or read it if it exists.

    Safe to kill at any moment and to call from several processes, as `unpick.runs.make` is.

    Args:
        config: The recipe.
        runner: How the restarts are trained; finished runs in its folder are read.
        path: The twin's folder; by default one in the folder of rendered data.
    """
    twin = config.data(str(Path(path).expanduser().resolve()) if path else "")
    if (twin.folder / twin.file).exists():
        twin.load()  # refuses what is damaged, or another twin
        return twin
    dataset = load_original(config)
    runs = make(config.candidates(), runner)
    runs = [run for run in runs if run.results["stopped"] is None]
    candidates = score_restarts(runs, dataset, config.choose)
    choice = select_restarts(candidates, config.ensemble)
    model = load_together([runs[k] for k in choice.entangled + choice.disentangled])
    contest = Contest(config, dataset, model)
    under_way = runner.root / f"{twin.name}-change-{twin.recipe}"
    with (
        stoppable() as stop,
        Bars(runner.progress) as bars,
        locked([under_way], show := checked(bars.update, stop)),
    ):
        if (twin.folder / twin.file).exists():  # made by another process meanwhile
            return twin
        small = is_small(config.base, dataset.shape, runner)
        with threads(1 if small else torch.get_num_threads()):
            train(contest, under_way, runner.checkpoint_seconds, show)
            table, level = contest.tabulate()
            before = refit_losses(contest, show, changed=False)
            after = refit_losses(contest, show, changed=True)
        size = table.abs().flatten(1).mean(1)
        report = {
            "candidates": [asdict(each) for each in candidates],
            "entangled": [candidates[k].seed for k in choice.entangled],
            "disentangled": [candidates[k].seed for k in choice.disentangled],
            "before": before._asdict(),
            "after": after._asdict(),
            "largest change": float(table.abs().max()),
            "mean change": float(size[level].mean()),
            "varying": varying_share(dataset.store, table, level),
            "environment": disk.environment() | {"processor": describe_processor()},
            "log": contest.log,
        }
        draw_pictures(contest, table, level, twin.folder)
        recipe = without_paths(to_json(config))
        save_twin(twin, config.epsilon, table, level, recipe=recipe, report=report)
        shutil.rmtree(under_way, ignore_errors=True)
    return twin


def load_original(config: PerturbConfig) -> Dataset:
    """The data that a twin is made of; raises if this recipe cannot be made."""
    if (latents := config.base.model.latents) < 2:
        raise ValueError(f"latents must be at least 2 to be entangled, got {latents}")
    dataset = load_pixels(config.original)
    check_score(dataset, config.choose)
    return dataset


def varying_share(images: Store, table: Float[Tensor, "l ..."], level: Int[Tensor, "n"]) -> float:
    r"""The share of the change, in squares, that is not the same for all observations.

    .. math:: E |(x + m) - (x + m')|^2 / 2 E |(x + m) - x|^2

    with the changes m, m' of any two observations, each sum reflected into [0, 1]: on black and
    white images a change and its negative are the same.
    """
    generator = torch.Generator().manual_seed(0)
    x, some, other = torch.randint(len(level), (3, COMPARED), generator=generator)
    plain = images.read(x)
    one, two = (reflect(plain + table[level[each]]) for each in (some, other))
    return float((one - two).square().sum() / (2 * (one - plain).square().sum()))


def refit_losses(
    contest: Contest, show: Callable[[ProgressUpdate], None], *, changed: bool
) -> Losses:
    """Refit the decoders, from their first weights, to original or changed images; their losses.

    Both kinds of images get as many batches. Changed ones may need more, so the sign of the
    difference between entangled and disentangled models is more certain than its size.
    """
    contest.reset_decoders()
    batches = refit_batches(contest.config)
    for tick in range(batches):
        contest.step_decoders(tick, changed=changed)
        show(ProgressUpdate("refit", "decoders anew", tick + 1, batches, 0.0, "", {}))
    return contest.losses(changed=changed)


def refit_batches(config: PerturbConfig) -> int:
    """How many batches refit the decoders, on original and on changed images each."""
    return min(REFIT, config.steps * config.decoder_batches)


def train(
    contest: Contest, folder: Path, seconds: float, show: Callable[[ProgressUpdate], None]
) -> None:
    """Train the change to the end, from the last checkpoint if there is one."""
    disk.remove_partial_files(folder)
    if found := checkpoints(folder):
        contest.restore(max(found), load_checkpoint(found[max(found)]))
    saved, steps = time.monotonic(), contest.config.steps
    for losses in train_in_slices(contest):
        terms = "  ".join(f"{name} {value:.5g}" for name, value in losses._asdict().items())
        halted = None
        try:
            show(ProgressUpdate("change", "change", contest.step, steps, 0.0, terms, {}))
        except KeyboardInterrupt as halt:  # save a checkpoint of this step first
            halted = halt
        if halted or time.monotonic() - saved > seconds:
            save_checkpoint(folder, contest.step, contest.state())
            drop_checkpoints(folder, but=contest.step)
            saved = time.monotonic()
        if halted:
            raise halted
