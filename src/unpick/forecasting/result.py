"""The forecast: numbers, words, and their form as JSON."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unpick.forecasting.kinds import Kind
from unpick.forecasting.pairs import Fate, fate_of
from unpick.forecasting.prediction import Prediction
from unpick.forecasting.spectra import Spectra
from unpick.models.likelihood import Likelihood
from unpick.notebook import html_table
from unpick.pages import Note


@dataclass(frozen=True)
class FactorForecast:
    """What is foretold of one factor.

    Attributes:
        name: Of the factor.
        kind: `ordered`, `periodic` or `categorical`.
        values: How many it takes; None if it is continuous.
        length: Root mean square length of its local direction, in the units of an observation, per
            standard deviation of the factor; None for a class, which has no direction.
        one_step: The same of plain differences over one grid step; None without a grid.
        saving: What it saves per nat: it disappears when beta grows beyond about this.
        noise: Whether what it changes is not told from noise. Then nothing is foretold of it, its
            saving is 0, and its length, too.
    """

    name: str
    kind: Kind
    values: int | None
    length: float | None
    one_step: float | None
    saving: float
    noise: bool = False


@dataclass(frozen=True)
class PairForecast:
    """What is foretold of two factors with directions.

    Attributes:
        first: One factor.
        second: The other.
        correlation: Of the two factors; 0 on a grid.
        cosine: Root mean square cosine of their directions.
        close: Share of points at which their lengths lie within 20 % of each other.
        angle: How far from the factors' own axes the cheapest axes lie, in degrees, at most 45.
            Correlated factors are made uncorrelated first, by the least change.
        stake: How much more the dearest axes cost than the cheapest, in nats.
        confusion: From 0, told apart, to 1, both latents hold both; 0.5 on average if open.
        sureness: Share of bootstrap samples of the points with the same fate.
    """

    first: str
    second: str
    correlation: float
    cosine: float
    close: float
    angle: float
    stake: float
    confusion: float
    sureness: float

    @property
    def fate(self) -> Fate:
        """Whether latents tell the two apart, mix them, or do either, by restart."""
        return fate_of(self.angle, self.stake)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the data alone say of the VAE that will be trained on them.

    Attributes:
        data: Name of the data set.
        observations: How many there are.
        shape: Of one observation.
        likelihood: What reconstruction is measured by.
        points: At how many points local directions were taken.
        factors: One entry a factor, in the data set's order.
        pairs: One entry for two factors with a direction.
        dto: Distance to orthogonality of the generator itself; None with fewer than two factors
            that have a direction.
        one_step_dto: The same of plain differences; None without a grid.
        chance: The distance of a random rotation.
        spectra: Global and local principal deviations.
        betas: The range of beta to try; None if no factor is known to save anything.
        prediction: Scores of a well-trained beta-VAE; None without betas.
        findings: All of it in words.
        page: The HTML page, if one was written.
    """

    data: str
    observations: int
    shape: tuple[int, ...]
    likelihood: Likelihood
    points: int
    factors: tuple[FactorForecast, ...]
    pairs: tuple[PairForecast, ...]
    dto: float | None
    one_step_dto: float | None
    chance: float | None
    spectra: Spectra
    betas: tuple[float, float] | None
    prediction: Prediction | None
    findings: tuple[Note, ...] = ()
    page: Path | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """The factors in the order in which they disappear as beta grows, without noise."""
        told = [f for f in self.factors if not f.noise]
        return tuple(f.name for f in sorted(told, key=lambda f: f.saving))

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: all numbers, the fate of each pair, and the findings as text."""
        numbers = asdict(self) | {"page": str(self.page) if self.page else None}
        for pair, own in zip(numbers["pairs"], self.pairs, strict=True):
            pair["fate"] = own.fate
        words = [{"title": f.title, "mark": f.mark, "text": f.text} for f in self.findings]
        return numbers | {"order": self.order, "findings": words}

    def __repr__(self) -> str:
        mixed = ", ".join(
            f"{p.first} and {p.second}" for p in self.pairs if p.fate != "told apart"
        )
        told = f"{len(self.pairs)} pairs, not told apart: {mixed or 'none'}"
        return f"Forecast({self.data}: {told if self.pairs else 'no pairs of factors'})"

    def _repr_html_(self) -> str:
        """The findings in words."""
        rows = [(note.mark, note.title, note.text) for note in self.findings]
        return html_table(repr(self), ("", "finding", ""), rows)
