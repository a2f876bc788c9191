"""Training the change against decoders that adapt to it."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset
from unpick.data.twins import reflect
from unpick.devices import send
from unpick.models import Autoencoder, Model
from unpick.models import likelihood as likelihoods
from unpick.models.likelihood import slope_factor
from unpick.perturb.config import PerturbConfig
from unpick.perturb.network import Change, features
from unpick.training import Adam
from unpick.training.parameters import EnsembleOptimiser
from unpick.training.streams import Streams

EPS = 1e-7  # of Adam, in the thesis
LOG_POINTS = 200
CHUNK = 4096  # observations at a time, in a pass over all


class Losses(NamedTuple):
    """Reconstruction loss of an image, averaged over the models of each side."""

    entangled: float
    disentangled: float


def mean_losses(losses: Float[Tensor, "s"]) -> Losses:
    """Average the losses of all models, entangled ones first, over each side."""
    entangled, disentangled = losses.chunk(2)
    return Losses(float(entangled.mean()), float(disentangled.mean()))


class Contest:
    r"""The training of the change and of the decoders (Zietlow 2022, section 4.2.4).

    The encoders are frozen and see the original images x. Each decoder minimises its
    reconstruction of x' = x + m(w) from latents z of x, and m minimises the difference

    .. math:: \sum_k L_{rec}^{ent,k}(x', z) - L_{rec}^{dis,k}(x', z)

    All models see the same images at a step, each with its own draws of z.

    Args:
        config: The recipe.
        dataset: The original data; the change is trained on all of it, as all of it is changed.
        model: The trained models, entangled ones first, then as many disentangled ones. Their
            decoders are trained further in place.
    """

    def __init__(self, config: PerturbConfig, dataset: Dataset, model: Model) -> None:
        if not isinstance(model, Autoencoder):
            raise ValueError(f"model must be an Autoencoder, got a {type(model).__name__}")
        self.config, self.dataset, self.model = config, dataset, model.eval()
        self.likelihood = config.base.model.likelihood
        self.factor = slope_factor(self.likelihood)
        self.device = device = next(model.parameters()).device
        self.everything = torch.arange(len(dataset))
        self.choices, self.streams = Streams([config.seed]), Streams([config.seed], device)
        first = model.member(0)
        self.features = features(dataset, lambda x: first.encode(x[None]).mean[0], device)
        with torch.no_grad():
            some = self.features(self._fixed_sample(1000))
        self.change = Change(config, some.shape[1], dataset.shape).to(device).eval()
        self.change.begin(some)
        self.first = {k: v.clone() for k, v in model.decoder.state_dict().items()}
        self.optimisers = {
            "decoders": self._decoders(),
            "change": EnsembleOptimiser(self.change, [Adam(config.learning_rate)], EPS),
        }
        self.step = 0
        self.log: list[tuple[int, float, float]] = []  # step, mean losses since the one before
        self.sums = torch.zeros(3, dtype=torch.float64)  # of both losses, and of how many steps

    def _decoders(self) -> EnsembleOptimiser:
        rates = [Adam(self.config.decoder_rate)] * self.model.members
        return EnsembleOptimiser(self.model.decoder, rates, EPS)

    def advance(self, until: int) -> Losses:
        """Train up to step `until`; return the losses on the last batch of the change."""
        batches = self.config.decoder_batches
        while self.step < until:
            for k in range(batches):
                self.step_decoders(self.step * batches + k)
            losses = self._step_change()
            self.sums += torch.tensor([*losses, 1.0])
            self.step += 1
        if not torch.tensor(losses).isfinite().all():
            raise ValueError(
                f"losses are not finite at step {self.step}; smaller rates of change and decoders "
                f"may help, got {self.config.learning_rate} and {self.config.decoder_rate}"
            )
        return losses

    def reset_decoders(self) -> None:
        """Give the decoders their first weights again; the change stays as it is."""
        self.model.decoder.load_state_dict(self.first)
        self.optimisers["decoders"] = self._decoders()

    def step_decoders(self, tick: int, *, changed: bool = True) -> None:
        """Train the decoders on a batch of changed or original images."""
        indices, noise = self._draw("decoders", tick)
        x = send(self.dataset.store.read(indices), self.device)
        with torch.no_grad():
            z = self._latents(x, noise)
            target = reflect(x + self.change(self.features(indices))) if changed else x
        self.model.decoder.train()
        output = self._decode(z)
        gradients = torch.autograd.grad(
            output, list(self.model.decoder.parameters()), self._output_gradient(target, output)
        )
        self.model.decoder.eval()
        self.optimisers["decoders"].descend(gradients, tick + 1)

    def _step_change(self) -> Losses:
        indices, noise = self._draw("change", self.step)
        x = send(self.dataset.store.read(indices), self.device)
        with torch.no_grad():
            output, w = self._decode(self._latents(x, noise)), self.features(indices)
        self.change.train()
        changed = reflect(x + self.change(w))
        gradients = torch.autograd.grad(
            changed, list(self.change.parameters()), self._change_gradient(output)
        )
        self.change.eval()
        self.optimisers["change"].descend(gradients, self.step + 1)
        return mean_losses(self._distortion(changed.detach(), output))

    @torch.no_grad()
    def _output_gradient(
        self, target: Float[Tensor, "b ..."], output: Float[Tensor, "s k b ..."]
    ) -> Float[Tensor, "s k b ..."]:
        r"""The gradient of every model's distortion by its output; autograd takes far longer.

        2 (\hat x - x') of the squared error, \sigma(\hat x) - x' of the cross-entropy.
        """
        error = torch.sub(likelihoods.mean(self.likelihood, output), target)
        return error.mul_(self.factor / output.shape[1:3].numel())

    @torch.no_grad()
    def _change_gradient(self, output: Float[Tensor, "s k b ..."]) -> Float[Tensor, "b ..."]:
        r"""The gradient of the change's loss by x', less its mean over the images.

        The whole gradient if the recipe is `literal`.

        Distortion has a term in x' that is the same for all models, and one that is linear in x'
        (-2 x' \hat x, or -x' \hat x with logits). In the difference only the linear one is left,
        so the gradient does not depend on x'. The mean over images would only train a constant
        pattern, to which the decoders adapt and which uses up epsilon.
        """
        entangled, disentangled = output.mean(1).chunk(2)
        pull = (disentangled - entangled).sum(0).mul_(self.factor / output.shape[2])
        return pull if self.config.literal else pull - pull.mean(0)

    def _draw(self, purpose: str, tick: int) -> tuple[Int[Tensor, "b"], Float[Tensor, "s kb d"]]:
        """Draw a batch for all models, and noise for each model."""
        config, size = self.config, min(self.config.batch, len(self.dataset))
        shape = (self.model.members, config.samples * size, config.base.model.latents)
        indices = self.choices.batch(f"batch of {purpose}", tick, size, self.everything)[0]
        return indices, self.streams.normal(f"noise of {purpose}", tick, shape)[0]

    def _latents(
        self, x: Float[Tensor, "b ..."], noise: Float[Tensor, "s kb d"]
    ) -> Float[Tensor, "s k b d"]:
        """Draw z from the posteriors that the frozen encoders give for the original images."""
        q = self.model.encode(x.expand(self.model.members, *x.shape))
        draws = noise.unflatten(1, (-1, len(x)))
        return torch.stack([q.sample(each) for each in draws.unbind(1)], dim=1)

    def _decode(self, z: Float[Tensor, "s k b d"]) -> Float[Tensor, "s k b ..."]:
        return self.model.decode(z.flatten(1, 2)).unflatten(1, z.shape[1:3])

    def _distortion(
        self, target: Float[Tensor, "b ..."], output: Float[Tensor, "s k b ..."]
    ) -> Float[Tensor, "s"]:
        """The distortion of each model, summed over pixels, averaged over images and draws."""
        values = likelihoods.distortion(self.likelihood, target.expand_as(output), output)
        return values.flatten(1).sum(1) / output.shape[1:3].numel()

    @torch.no_grad()
    def losses(self, *, changed: bool, images: int = 1000) -> Losses:
        """The losses on a fixed sample of images, changed or original."""
        indices = self._fixed_sample(images)
        shape = (self.model.members, len(indices), self.config.base.model.latents)
        noise = self.streams.normal("noise of judge", 0, shape)[0]
        sums = torch.zeros(self.model.members, device=self.device)
        for part, draws in zip(indices.split(100), noise.split(100, dim=1), strict=True):
            x = send(self.dataset.store.read(part), self.device)
            target = reflect(x + self.change(self.features(part))) if changed else x
            sums += len(part) * self._distortion(target, self._decode(self._latents(x, draws)))
        return mean_losses(sums / len(indices))

    def _fixed_sample(self, images: int) -> Int[Tensor, "n"]:
        """Random observations, the same for every call with that number."""
        return self.choices.batch("judge", 0, min(images, len(self.dataset)), self.everything)[0]

    @torch.no_grad()
    def tabulate(self) -> tuple[Float[Tensor, "l ..."], Int[Tensor, "n"]]:
        """The change at equidistant levels of the neuron, and each observation's nearest level.

        The levels span the range of the observations.
        """
        parts = self.everything.split(CHUNK)
        s = torch.cat([self.change.neuron(self.features(part)) for part in parts])
        ends = float(s.min()), float(s.max())
        levels = torch.linspace(*ends, self.config.levels, device=self.device)
        span = (s.max() - s.min()).clamp(min=1e-12)
        level = ((s - s.min()) / span * (len(levels) - 1)).round().long()
        return self.change.draw(levels).cpu(), level.cpu()

    def state(self) -> dict[str, Tensor]:
        """All that is needed to resume from this step."""
        parts = {
            f"{name}.{k}.{key}": tensor
            for name, optimiser in self.optimisers.items()
            for k in range(len(optimiser.rates))
            for key, tensor in optimiser.state(k).items()
        }
        log = torch.tensor(self.log, dtype=torch.float64).reshape(-1, 3)
        return {**parts, "log": log, "sums": self.sums}

    def restore(self, step: int, state: dict[str, Tensor]) -> None:
        """Resume from a saved `state`."""
        self.step, self.sums = step, state["sums"]
        self.log = [(int(when), ent, dis) for when, ent, dis in state["log"].tolist()]
        for name, optimiser in self.optimisers.items():
            for k in range(len(optimiser.rates)):
                prefix = f"{name}.{k}."
                part = {
                    key.removeprefix(prefix): tensor
                    for key, tensor in state.items()
                    if key.startswith(prefix)
                }
                optimiser.restore(k, part)


def train_in_slices(contest: Contest) -> Iterator[Losses]:
    """Train to the end; yield the losses about twice a second and at every log point."""
    steps = contest.config.steps
    every, pace = max(1, steps // LOG_POINTS), 1
    while contest.step < steps:
        started, start = time.perf_counter(), contest.step
        log_point = min(steps, (start // every + 1) * every)
        losses = contest.advance(min(log_point, start + pace))
        pace = max(1, int(0.5 * (contest.step - start) / (time.perf_counter() - started)))
        if contest.step == log_point:
            entangled, disentangled, count = contest.sums.tolist()
            contest.log.append((contest.step, entangled / count, disentangled / count))
            contest.sums.zero_()
        yield losses
