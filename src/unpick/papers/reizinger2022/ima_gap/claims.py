"""Claims about the ELBO as the decoder's noise falls, checked on curves."""

import numpy as np
from jaxtyping import Float

from unpick.papers.reizinger2022.ima_gap.curves import Curves
from unpick.study.study import Verdict

Array = np.ndarray


def decay_power(found: Curves, elbo: Float[Array, "g"]) -> float:
    """The power of gamma^2 by which the distance to the IMA objective changes, last decade."""
    last = found.precision > found.precision[-1] / 11
    distance = np.log(np.abs(elbo - found.regularised)[last])
    return float(np.polyfit(np.log(found.precision[last]), distance, 1)[0])


def tends_to_objective(found: Curves) -> Verdict:
    """The distance to the IMA objective falls, to less than 1 % of the contrast at the end."""
    distance = np.abs(found.elbo - found.regularised)
    falls = bool((np.diff(distance[-4:]) < 0).all())
    evidence = f"IMA objective {found.regularised:.3f}; ELBO* less that: "
    evidence += _listed(found, found.elbo - found.regularised)
    return Verdict(falls and bool(distance[-1] < 0.01 * found.contrast), evidence)


def gap_is_contrast(found: Curves, theirs: Curves) -> Verdict:
    """The last gap is the contrast within 2 %: here, with noise and without, and as stored."""
    gaps = {
        "here": (found.likelihood - found.elbo[-1]) / found.contrast,
        "here, with noise": (found.noisy[-1] - found.elbo[-1]) / found.contrast,
        "stored results": (theirs.likelihood - theirs.elbo[-1]) / theirs.contrast,
    }
    told = ", ".join(f"{name} {gap:.3f}" for name, gap in gaps.items())
    ends = {
        "log-likelihood": (found.likelihood, theirs.likelihood),
        "IMA objective": (found.regularised, theirs.regularised),
        "ELBO*": (found.elbo[-1], theirs.elbo[-1]),
    }
    evidence = ", ".join(f"{name} {a:.2f} (stored {b:.2f})" for name, (a, b) in ends.items())
    last = [np.log10(each.precision[-1]) for each in (found, theirs)]
    evidence += f" at gamma^2 = 10^{last[0]:g} (10^{last[1]:g}); "
    evidence += f"log-likelihood less ELBO*, in contrasts: {told}"
    return Verdict(all(abs(gap - 1) < 0.02 for gap in gaps.values()), evidence)


def coincide_inside(mixings: dict[str, Curves]) -> Verdict:
    """Contrasts are zero, and ELBO* ends within 0.01 nats of the log-likelihood."""
    told, holds = [], True
    for name, found in mixings.items():
        gap = found.likelihood - found.elbo
        holds &= bool(found.contrast < 1e-6 and abs(gap[-1]) < 0.01)
        told.append(f"{name}: contrast {found.contrast:.0e}, log-likelihood less ELBO* ")
        told[-1] += _listed(found, gap)
    return Verdict(holds, "; ".join(told))


def falls_like_inverse_square(mixings: dict[str, Curves]) -> Verdict:
    """The self-consistent ELBO's distance falls with a power within 0.1 of -1."""
    powers = {name: decay_power(found, found.inverting) for name, found in mixings.items()}
    told = ", ".join(f"{name} {value:.2f}" for name, value in powers.items())
    best = ", ".join(
        f"{name} {decay_power(found, found.elbo):.2f}" for name, found in mixings.items()
    )
    evidence = f"power of gamma^2 over the last decade: {told} (ELBO*: {best})"
    return Verdict(all(abs(value + 1) < 0.1 for value in powers.values()), evidence)


def encoder_inverts(mixings: dict[str, Curves]) -> Verdict:
    """Means and variances approach the inverting encoder's, ten times closer at the end."""
    told, holds = [], True
    for name, found in mixings.items():
        means, variances = found.off_inverse, found.off_variance
        holds &= bool((np.diff(means) < 0).all() and means[-1] < means[0] / 10)
        holds &= bool(variances[-1] < variances[0] / 10)
        told.append(f"{name}: means off by {means[0]:.2g} to {means[-1]:.2g}")
        told[-1] += f", log variances by {variances[0]:.2g} to {variances[-1]:.2g}"
    return Verdict(holds, f"from the lowest to the highest gamma^2: {'; '.join(told)}")


def objective_is_no_bound(found: Curves, theirs: Curves) -> Verdict:
    """ELBO* exceeds the IMA objective by 0.01 nats somewhere, at the end by less than half."""
    told, holds = [], True
    for name, each in {"here": found, "stored results": theirs}.items():
        above = each.elbo - each.regularised
        most = above.argmax()
        holds &= bool(above[most] > 0.01 and above[-1] < above[most] / 2)
        told.append(
            f"{name} {above[most]:.2f} nats at gamma^2 = 10^{np.log10(each.precision[most]):g}"
        )
        told[-1] += f", {above[-1]:.2f} at the highest"
    return Verdict(holds, f"ELBO* less the IMA objective: {'; '.join(told)}")


def _listed(found: Curves, values: Float[Array, "g"]) -> str:
    listed = ", ".join(f"{value:.2g}" for value in values[::2])
    first, last = np.log10(found.precision[[0, -1]])
    return f"{listed} from gamma^2 = 10^{first:g} to 10^{last:g}"
