"""Foretell from the data alone what a VAE will tell apart and what it will mix."""

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import torch
from jaxtyping import Float
from rich.console import Console
from torch import Tensor

from unpick.data import Dataset
from unpick.forecasting.directions import Directions, local_directions
from unpick.forecasting.kinds import Kind, name_kinds, ordered_columns
from unpick.forecasting.page import print_forecast, write_forecast
from unpick.forecasting.pairs import confusion, judge_pair
from unpick.forecasting.prediction import predict
from unpick.forecasting.result import FactorForecast, Forecast, PairForecast
from unpick.forecasting.spectra import CLOSE, compare_spectra
from unpick.forecasting.words import describe
from unpick.forecasting.worth import savings, suggest_betas
from unpick.geometry.orthogonality import DistanceToOrthogonality, distance_of_directions
from unpick.geometry.singular import singular_directions
from unpick.models.likelihood import Likelihood
from unpick.names import unknown_choice
from unpick.training.progress import status_line

Asked = Literal["auto", "gaussian", "bernoulli"]


def forecast(
    dataset: Dataset,
    *,
    likelihood: Asked = "auto",
    periodic: Sequence[str] = (),
    categorical: Sequence[str] = (),
    points: int = 200,
    seed: int = 0,
    report: str | Path | None = None,
    show: bool = True,
    command: str = "unpick.forecasting",
) -> Forecast:
    """Foretell what a VAE will tell apart and what it will mix; nothing is trained.

    A VAE finds the local principal directions of the data. If the factors' own directions are
    orthogonal and of different lengths, these are the principal ones, and latents hold one factor
    each. Two factors whose directions are equally long are mixed by an angle that depends on the
    restart, and two that are not orthogonal are mixed by an angle that the data decide. Latents
    are uncorrelated, so the same is asked of uncorrelated combinations of correlated factors.

    Args:
        dataset: From `unpick.data`; factors on a grid, scattered, or none.
        likelihood: What reconstruction is measured by; `auto` is `bernoulli` for images in [0, 1]
            and `gaussian` for all else.
        periodic: Factors that return to their start, such as a hue, beside those that are seen to.
        categorical: Factors whose values have no order, beside those that the data set names.
        points: At how many observations local directions are taken.
        seed: Of the choice of these observations.
        report: Folder for an HTML page with pictures; none is written by default.
        show: Print what was found.
        command: What the page says of how it was made.

    Example:
        >>> from unpick.data import load
        >>> forecast(load("synth-lin", ratio=2.0, points=4000), show=False)
        Forecast(synth-lin: 1 pairs, not told apart: none)
        >>> forecast(load("synth-lin", ratio=1.0, points=4000), show=False)
        Forecast(synth-lin: 1 pairs, not told apart: first and second)
    """
    if likelihood not in get_args(Asked):
        raise unknown_choice("likelihood", likelihood, Asked)
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
    if len(dataset) < 10:
        raise ValueError(f"dataset must have at least 10 observations, got {len(dataset)}")
    chosen = choose_likelihood(dataset, likelihood)
    dataset, kinds = name_kinds(dataset, periodic, categorical)
    generator = torch.Generator().manual_seed(seed)
    columns = ordered_columns(dataset) if dataset.factors else ()
    with status_line() if show else nullcontext(lambda _: None) as on_progress:
        directions = local_directions(dataset, columns, points, generator, on_progress)
        gram = directions.judged if directions.columns else None
        spectra = compare_spectra(dataset, gram, generator)
        found = Forecast(
            dataset.name, len(dataset), dataset.shape, chosen, points, (), (), None, None, None,
            spectra, None, None,
        )  # fmt: skip
        if dataset.factors:
            found = _with_factors(found, dataset, kinds, directions)
    found = replace(found, findings=describe(found))
    if report is not None:
        page = write_forecast(Path(report), found, dataset, directions, command)
        found = replace(found, page=page)
    if show:
        print_forecast(found, Console())
    return found


def choose_likelihood(dataset: Dataset, asked: Asked) -> Likelihood:
    """The likelihood that was asked for; by default that of images in [0, 1], or squared error."""
    if asked != "auto":
        return asked
    some = dataset.observe(torch.arange(0, len(dataset), max(1, len(dataset) // 256)))
    pixels = len(dataset.shape) == 3 and 0 <= float(some.min()) <= float(some.max()) <= 1
    return "bernoulli" if pixels else "gaussian"


def _with_factors(
    found: Forecast, dataset: Dataset, kinds: tuple[Kind, ...], directions: Directions
) -> Forecast:
    """Add what factors tell."""
    saved = savings(dataset, directions, found.likelihood, found.points)
    lengths = dict.fromkeys(directions.lost, 0.0) | _lengths(directions, directions.gram)
    steps = _lengths(directions, directions.one_step)
    factors = tuple(
        FactorForecast(
            factor.name,
            "ordered" if k in directions.lost else kinds[k],
            len(factor.values) or None,
            lengths.get(k),
            steps.get(k),
            saved[k],
            noise=not dataset.is_grid and saved[k] == 0,
        )
        for k, factor in enumerate(dataset.factors)
    )
    betas = suggest_betas(saved)
    whole, plain = _distance(directions.judged), _distance(directions.one_step)
    return replace(
        found,
        points=len(directions.rows) or found.points,
        factors=factors,
        pairs=_pairs(dataset, directions),
        dto=whole.mean if whole else None,
        one_step_dto=plain.mean if plain else None,
        chance=whole.chance if whole else None,
        betas=betas,
        prediction=predict(dataset, directions, kinds, saved, betas) if betas else None,
    )


def _lengths(directions: Directions, gram: Float[Tensor, "n d d"] | None) -> dict[int, float]:
    """Root mean square length of each column, by the factor's place in the data set."""
    if gram is None:
        return {}
    lengths = gram.diagonal(dim1=1, dim2=2).mean(0).sqrt().tolist()
    return dict(zip(directions.columns, lengths, strict=True))


def _distance(gram: Float[Tensor, "n d d"] | None) -> DistanceToOrthogonality | None:
    if gram is None or gram.shape[1] < 2:
        return None
    return distance_of_directions(*singular_directions(gram))


def _pairs(dataset: Dataset, directions: Directions) -> tuple[PairForecast, ...]:
    found = []
    for pair in itertools.combinations(range(len(directions.columns)), 2):
        two = directions.of_pair(pair)
        lengths = two.gram.diagonal(dim1=1, dim2=2).sqrt()
        both = (lengths > 0).all(1)
        cosines = (two.gram[:, 0, 1] / lengths.prod(1))[both]
        close = (lengths.amax(1) < CLOSE * lengths.amin(1))[both]
        angle, stake, sureness = judge_pair(two.judged)
        first, second = (dataset.factors[k].name for k in two.columns)
        found.append(
            PairForecast(
                first,
                second,
                correlation=float(two.correlation[0, 1]),
                cosine=float(cosines.square().mean().sqrt()) if len(cosines) else 0.0,
                close=float(close.double().mean()) if len(close) else 0.0,
                angle=angle,
                stake=stake,
                confusion=confusion(angle, stake),
                sureness=sureness,
            )
        )
    return tuple(found)
