"""What chapter 2 of Zietlow (2022) says of its figures, as predicates on results."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.papers.zietlow2022.surfaces.cells import BENT
from unpick.study.study import Check, Results, Verdict

Values = Float[np.ndarray, "s"]


def over_seeds(columns: tuple[str, ...], measure: str, judge: Callable[..., Verdict]) -> Check:
    """A check that judges the values of one measure, an array over seeds for each column."""

    def check(results: Results) -> Verdict:
        row = results.rows().get(BENT.name, {})
        if missing := [column for column in columns if column not in row]:
            return Verdict(None, f"no runs of {', '.join(missing)}")
        return judge(*(row[column].values[measure] for column in columns))

    return check


def show(values: Values, unit: str = " degrees") -> str:
    """Mean, range and number of values."""
    low, high, n = values.min(), values.max(), len(values)
    return f"{values.mean():.3g}{unit} ({low:.3g} to {high:.3g}, {n} seeds)"


def aligned(vae: Values) -> Verdict:
    """Axes within 5 degrees."""
    return Verdict(bool(vae.max() < 5), f"largest angle to a principal direction {show(vae)}")


def same_plane(ae: Values) -> Verdict:
    """Planes within 5 degrees."""
    return Verdict(bool(ae.max() < 5), f"angle between the planes {show(ae)}")


def unaligned(ae: Values, vae: Values) -> Verdict:
    """Axes of every AE further from PCA's than those of any VAE."""
    evidence = f"angle to the principal directions: AE {show(ae)}, VAE {show(vae)}"
    return Verdict(bool(ae.min() > vae.max()), evidence)


def oblique(linear: Values, nonlinear: Values) -> Verdict:
    """Angles further than 5 degrees from 90, on average over seeds."""
    evidence = f"curves cross at {show(linear)} linear, {show(nonlinear)} nonlinear"
    return Verdict(bool(max(linear.mean(), nonlinear.mean()) < 85), evidence)


def orthogonal(linear: Values, nonlinear: Values) -> Verdict:
    """Angles within 5 degrees of 90, for every seed."""
    evidence = f"curves cross at {show(linear)} linear, {show(nonlinear)} nonlinear"
    return Verdict(bool(min(linear.min(), nonlinear.min()) > 85), evidence)


def fits_better(results: Results) -> Verdict:
    """Squared errors of at most a fifth of PCA's."""

    def judge(ae: Values, vae: Values) -> Verdict:
        of_pca = results.computed["pca"]["squared error"]
        evidence = f"squared error: PCA {of_pca:.3g}, AE {show(ae, '')}, VAE {show(vae, '')}"
        return Verdict(bool(max(ae.max(), vae.max()) < of_pca / 5), evidence)

    return over_seeds(("nonlinear AE", "nonlinear VAE"), "squared error", judge)(results)


def lower_dto(results: Results) -> Verdict:
    """The DtO of every nonlinear VAE below that of any nonlinear AE."""
    row = results.rows().get(BENT.name, {})
    if not {"nonlinear AE", "nonlinear VAE"} <= row.keys():
        return Verdict(None, "nonlinear AE or VAE not run")
    ae, vae = (row[f"nonlinear {kind}"].values["DtO"] for kind in ("AE", "VAE"))
    evidence = f"DtO: AE {show(ae, '')}, VAE {show(vae, '')}"
    return Verdict(bool(vae.max() < ae.min()), evidence)
