"""The result of a stress test: scores on each twin, and the share of a score that is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

Twin = Literal["original", "noisy", "matched", "perturbed"]
Control = Literal["noisy", "matched"]
TWINS: tuple[Twin, ...] = get_args(Twin)
CONTROLS: tuple[Control, ...] = get_args(Control)
LEVEL = 0.975  # quantile of Student's distribution at the ends of a 95 % interval


@dataclass(frozen=True)
class LostShare:
    """The share of a score that is lost, with its 95 % interval over seeds.

    Attributes:
        value: nan if the score on the original is not clearly above chance.
        low: Lower end of the interval; nan for a single seed.
        high: Upper end.
    """

    value: float
    low: float
    high: float

    @property
    def undecided(self) -> bool:
        """Whether the interval is wider than the whole score, so that seeds do not tell."""
        return self.high - self.low > 1


@dataclass(frozen=True, eq=False)
class Stress:
    """The scores of a method on a data set and its twins.

    Attributes:
        values: By twin and score: a value for every seed that did not diverge.
        chance: By score: values of random linear projections of the original to as many latents.
        change: Root mean square of each twin's change, on test images.
        seeds: Trainings on each of the data sets.
    """

    values: Mapping[Twin, Mapping[str, Float[np.ndarray, "_"]]]
    chance: Mapping[str, Float[np.ndarray, "_"]]
    change: Mapping[Twin, float]
    seeds: int

    def __repr__(self) -> str:
        first = self.measures[0]
        means = [f"{twin} {each[first].mean():.3f}" for twin, each in self.values.items()]
        return f"Stress({self.seeds} seeds; {first} {', '.join(means)})"

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(self.values["original"])

    def is_above_chance(self, measure: str) -> bool:
        """Whether the score on the original is above chance by Welch's test, at 2.5 %.

        With one seed, whether it is beyond what another random projection would have.
        """
        own, chance = self.values["original"][measure], self.chance[measure]
        parts = np.array([_error(own), _error(chance)])
        if len(own) == 1:
            parts = np.array([0.0, chance.var(ddof=1) + _error(chance)])
        reach = _reach(parts, [len(own), len(chance)])
        return bool(own.mean() - chance.mean() > reach)

    def lost_share(self, measure: str, control: Control = "noisy") -> LostShare:
        r"""(control - perturbed) / original, of means over seeds.

        nan if the score on the original is not above chance: a share of nothing says nothing. The
        interval is Student's, with the variance of the share by the delta method,

        .. math:: (v_{control} + v_{perturbed} + share^2 v_{original}) / original^2,

        v the squared standard errors of the means, and Welch's degrees of freedom.
        """
        twins: tuple[Twin, ...] = ("original", control, "perturbed")
        samples = [self.values[twin][measure] for twin in twins]
        original, noisy, perturbed = (float(each.mean()) for each in samples)
        if not self.is_above_chance(measure):
            return LostShare(np.nan, np.nan, np.nan)
        share = (noisy - perturbed) / original
        if min(map(len, samples)) < 2:
            return LostShare(share, np.nan, np.nan)
        slopes = np.array([share, 1, 1]) / original
        reach = _reach(slopes**2 * [_error(each) for each in samples], [len(s) for s in samples])
        return LostShare(share, share - reach, share + reach)


def _error(values: Float[np.ndarray, "_"]) -> float:
    """Squared standard error of a mean; 0 for a single value."""
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0


def _reach(parts: Float[np.ndarray, "_"], counts: Sequence[int]) -> float:
    """Half of a 95 % interval, from the variances that samples of these sizes contribute."""
    if not parts.any():
        return 0.0
    freedom = parts.sum() ** 2 / sum(
        part**2 / (count - 1) for part, count in zip(parts, counts, strict=True) if part
    )
    return float(student.ppf(LEVEL, freedom) * np.sqrt(parts.sum()))
