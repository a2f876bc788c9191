"""Event files for TensorBoard: what a run logs, and pictures of its latents.

They lie in RUN/tensorboard, so that `tensorboard --logdir runs` shows all runs. The logs of a run
(`log.jsonl`, `latents.jsonl`) remain its record; a run trained without event files gets them from
there when they are asked for.

terms/NAME        the loss and its terms
latents/active    how many latents are active: their means deviate by more than 0.5
kl/latent-J       KL of each latent in nats, counted from 1
traversals        decoded images, a row a latent
"""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import Dataset, split
from unpick.geometry.polarized import ACTIVE_ABOVE
from unpick.models import Model
from unpick.runs.disk import Run
from unpick.runs.results import LOGS
from unpick.training import Tick, Training

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

Log = Literal["none", "tensorboard"]
FOLDER = "tensorboard"  # in the folder of a run
PICTURES = 10  # a run
CODES = 64  # validation images whose codes say how far a latent is moved
SHOWN = 32  # latents of a picture, at most
STEPS = 9  # images of a traversal


def check_installed(log: Log) -> None:
    """Raise if event files are asked for and the package that writes them is missing."""
    if log == "tensorboard" and find_spec("tensorboard") is None:
        raise ValueError(
            "log tensorboard needs the package tensorboard, which is not installed: "
            "pip install tensorboard (it is unpick's extra `log`)"
        )


class EventLog:
    """The event files of an ensemble in training, one folder a member.

    A run that resumes starts a new file, which tells TensorBoard to drop what older files have
    of later steps. Without folders it does nothing.

    Args:
        paths: Folders of the runs, whose logs end at `step`.
        step: From which training goes on.
    """

    def __init__(self, paths: Sequence[Path], step: int) -> None:
        self.writers = [open_events(path, step) for path in paths]
        self.drawn = step

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in self.writers:
            writer.close()

    def add(
        self, training: Training, tick: Tick, records: Sequence[Sequence[dict[str, Any]]]
    ) -> None:
        """Write the records that the members' logs got at this tick, and pictures if they are due.

        After the last step the latents are looked at once more.
        """
        if not self.writers:
            return
        latents = training.latent_statistics() if tick.last and not tick.latents else {}
        for k, writer in enumerate(self.writers):
            for record in records[k]:
                values = {name: value for name, value in record.items() if name != "step"}
                write_record(writer, record["step"], values)
            if latents and k not in training.stopped:
                own = {name: value[k].tolist() for name, value in latents.items()}
                write_record(writer, tick.step, own)
        steps = training.config.steps
        if tick.last or (
            tick.due and PICTURES * tick.step // steps > PICTURES * self.drawn // steps
        ):
            self._draw(training, tick.step)

    def _draw(self, training: Training, step: int) -> None:
        self.drawn = step
        if not decodes_images(training.model):
            return
        training.model.eval()
        pictures = traversals(training.model, training.validation[:CODES])
        training.model.train()
        for writer, picture in zip(self.writers, pictures, strict=True):
            writer.add_image("traversals", picture, step)

    def flush(self) -> None:
        """Write to disk all that was added; call it before a checkpoint."""
        for writer in self.writers:
            writer.flush()


def has_events(run: Run) -> bool:
    """Whether a run has event files."""
    return (run.path / FOLDER).exists()


def write_finished(run: Run, dataset: Dataset) -> None:
    """Write the event files of a finished run from its logs and its weights."""
    model, log = run.model(), run.log()
    step = log[-1]["step"] if log else 0
    with open_events(run.path, step) as writer:
        if decodes_images(model):
            images = dataset.observe(split(dataset).validation[:CODES])
            writer.add_image("traversals", traversals(model, images)[0], step)


def open_events(path: Path, step: int) -> "SummaryWriter":
    """Open a new event file of a run; the first one begins with what the run has logged."""
    from torch.utils.tensorboard import SummaryWriter

    first = not (path / FOLDER).exists()
    writer = SummaryWriter(path / FOLDER, purge_step=1 if first else step + 1)
    for file in [path / name for name in LOGS] if first else []:
        for line in file.read_text().splitlines() if file.exists() else ():
            record = json.loads(line)
            write_record(writer, record.pop("step"), record)
    return writer


def write_record(writer: "SummaryWriter", step: int, record: Mapping[str, Any]) -> None:
    """Write a record of one run: loss terms, or statistics of each latent."""
    values = {f"terms/{name}": value for name, value in record.items()}
    if "deviation" in record:
        values = {f"kl/latent-{j}": value for j, value in enumerate(record["kl"], 1)}
        values["latents/active"] = sum((d or 0) > ACTIVE_ABOVE for d in record["deviation"])
    for tag, value in values.items():  # JSON has null where a value is not finite
        writer.add_scalar(tag, math.nan if value is None else value, step)


def decodes_images(model: Model) -> bool:
    """Whether there is a decoder, and it makes images, grey or in colour."""
    return model.decodes and len(model.shape) == 3 and model.shape[0] in (1, 3)


@torch.no_grad()
def traversals(model: Model, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "s c height width"]:
    """Decoded images as one latent moves at a time, a row a latent, as one picture a member.

    A latent moves from -2 to 2 deviations about the code of the first image: those of its codes,
    but at least the prior's, so that passive latents are moved as well.
    """
    x = x.to(next(model.parameters()).device)
    q = model.encode(x.expand(model.members, *x.shape))
    reach = q.mean.std(1, correction=0)
    if q.variance is not None:
        reach = reach.clamp(min=1.0)
    rows = min(reach.shape[1], SHOWN)
    z = q.mean[:, :1, None].repeat(1, rows, STEPS, 1)
    for j in range(rows):
        z[:, j, :, j] += torch.linspace(-2, 2, STEPS).to(z) * reach[:, j, None]
    images = (
        model.decode_mean(z.flatten(1, 2)).unflatten(1, (rows, STEPS)).clamp(0, 1).float().cpu()
    ).nan_to_num(0.5)  # of a member that diverged
    framed = torch.nn.functional.pad(images, (1, 1, 1, 1), value=0.5)
    return framed.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)
