"""Train in memory: nothing is written, nothing is resumed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from unpick.data import Dataset
from unpick.devices import Precision
from unpick.models import Model, NetworkFactory, OwnNetwork
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
    log: tuple[dict[str, object], ...] = ()
    stopped: dict[int, int] = field(default_factory=dict)


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
    log: list[dict[str, object]] = []
    with Bars(progress) as bars:
        for tick in ticks(training):
            bars.update(progress_update(training, tick))
            if tick.due:
                log.append({"step": tick.step, **{k: v.tolist() for k, v in tick.terms.items()}})
    return Ensemble(configs, training.model.eval(), tuple(log), dict(training.stopped))
