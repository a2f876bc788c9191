"""Train in memory: nothing is written, nothing is resumed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unpick.data import Dataset
from unpick.devices import Precision
from unpick.models import Model, NetworkFactory, OwnNetwork
from unpick.notebook import html_table
from unpick.training.config import RunConfig
from unpick.training.loop import Training, ticks
from unpick.training.progress import Bars, progress_update


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained members and their log.

    Attributes:
        configs: One a member.
        model: Their weights, side by side.
        log: Records with `step` and, for each term, a value a member.
        stopped: Members that diverged, and when: their loss was not finite, or their last weights.
            Their weights are of that step.
    """

    configs: tuple[RunConfig, ...]
    model: Model
    log: tuple[dict[str, Any], ...] = ()
    stopped: dict[int, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        first, members = self.configs[0], len(self.configs)
        what = f"{first.label()}, {members} member{'s' * (members > 1)}, {first.steps} steps"
        losses = self.log[-1]["loss"] if self.log else []
        between = f", loss {min(losses):.4g} to {max(losses):.4g}" if losses else ""
        diverged = f", {len(self.stopped)} diverged" if self.stopped else ""
        return f"Ensemble({what}{between}{diverged})"

    def _repr_html_(self) -> str:
        """A row a member: seed, what differs, and the last value of each term."""
        scalars = [config.scalars() for config in self.configs]
        differ = [name for name in scalars[0] if len({each[name] for each in scalars}) > 1]
        last = {k: v for k, v in (self.log or ({},))[-1].items() if k != "step"}
        rows = [
            (
                config.seed,
                *(f"{own[name]:g}" for name in differ),
                *(f"{values[k]:.4g}" for values in last.values()),
                f"at step {self.stopped[k]}" if k in self.stopped else "",
            )
            for k, (config, own) in enumerate(zip(self.configs, scalars, strict=True))
        ]
        return html_table(repr(self), ("seed", *differ, *last, "diverged"), rows)


def train(
    config: RunConfig | Sequence[RunConfig],
    dataset: Dataset | None = None,
    progress: bool = True,
    *,
    device: str = "auto",
    precision: Precision = "fp32",
    model: NetworkFactory | None = None,
) -> Ensemble:
    """Train one configuration, or several together, in memory.

    Args:
        config: One, or a sequence whose members differ in seed and scalar hyperparameters.
        dataset: Loaded from the configuration if left out.
        progress: Whether to show a bar with the loss terms, the speed and the time left.
        device: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`.
        precision: Of matrix products: `fp32`, `tf32` (CUDA only) or `bf16`.
        model: Makes networks of your own in place of the configuration's: a function from the
            shape of an observation, the number of latents and the number of posterior parameters
            to an encoder and a decoder (`unpick.models.NetworkFactory`).

    Example:
        >>> from dataclasses import replace
        >>> from unpick.training import preset
        >>> config = replace(preset("synth-lin"), steps=20)
        >>> ensemble = train([replace(config, seed=s) for s in range(3)], progress=False)
        >>> ensemble.model.members
        3
    """
    configs = (config,) if isinstance(config, RunConfig) else tuple(config)
    if model is not None:
        own = OwnNetwork.of(model)
        configs = tuple(replace(c, model=replace(c.model, network=own)) for c in configs)
    dataset = configs[0].data.load() if dataset is None else dataset
    training = Training(configs, dataset, device, precision, model)
    log: list[dict[str, Any]] = []
    with Bars(progress) as bars:
        for tick in ticks(training):
            bars.update(progress_update(training, tick))
            if tick.due:
                log.append({"step": tick.step, **{k: v.tolist() for k, v in tick.terms.items()}})
    return Ensemble(configs, training.model.eval(), tuple(log), dict(training.stopped))
