"""Checks of theorems 1 and 2 of Allen (2024), by counted draws and estimated information."""

import numpy as np
from jaxtyping import Float

from unpick.papers.allen2024.pushforward.decoders import DECODERS, DRAWS, ROUNDING, Measured
from unpick.study.study import Results, Verdict

Array = np.ndarray
ORTHOGONAL = tuple(name for name, known in DECODERS.items() if known.orthogonal)
OBLIQUE = tuple(name for name in DECODERS if name not in ORTHOGONAL)
SIGMAS = 4.0  # by which a count may be off


def measured(results: Results) -> dict[str, Measured]:
    """What was found for each decoder."""
    return {name: Measured.from_json(v) for name, v in results.computed["decoders"].items()}


def within_error(off: Float[Array, "k"], error: Float[Array, "k"]) -> bool:
    """Whether counts differ by no more than chance and the finite radius explain."""
    return bool((np.abs(off) < SIGMAS * error + ROUNDING).all())


def density_as_counted(results: Results) -> Verdict:
    """The formula against counted draws, and for linear decoders against scipy's density."""
    found, differs = measured(results), results.computed["linear"]["off normal"]
    off = np.concatenate([each.counted for each in found.values()])
    error = np.concatenate([each.error for each in found.values()])
    evidence = f"{DRAWS:,} draws of each of {len(DECODERS)} decoders: log-densities counted at "
    evidence += f"four points are off by {np.abs(off).max():.2f} nats at most, by "
    evidence += f"{np.sqrt(np.square(off / error).mean()):.1f} counting errors in the root mean "
    evidence += f"square; a linear decoder's is off the Gaussian density by {differs:.0e}"
    return Verdict(within_error(off, error) and differs < 1e-9, evidence)


def independent_along_singular(results: Results) -> Verdict:
    """Components of W z along left singular vectors, and along axes turned from them."""
    linear, chance = results.computed["linear"], results.computed["independent"]["chance"]
    straight, turned, off = linear["singular"], linear["turned"], linear["off product"]
    evidence = f"information between components of W z: {straight:.3f} nats along left singular "
    evidence += f"vectors, {turned:.3f} along axes turned by 22.5 degrees (chance: up to "
    evidence += f"{chance:.3f}); Gaussian densities along them multiply to the density to "
    evidence += f"within {off:.0e}"
    return Verdict(straight < chance < turned and off < 1e-9, evidence)


def densities_multiply(results: Results) -> Verdict:
    """Counted by area, against counted along the curves, for orthogonal columns."""
    found = measured(results)
    off = np.concatenate([found[name].products for name in ORTHOGONAL])
    error = np.concatenate([found[name].error for name in ORTHOGONAL])
    gap = max(abs(found[name].gap) for name in ORTHOGONAL)
    evidence = f"{len(ORTHOGONAL)} decoders: counted by area and along the two curves, density "
    evidence += f"and product differ by {np.abs(np.expm1(off)).max():.0%} at most, "
    evidence += f"{np.abs(off / error).max():.1f} counting errors; by the formulas by {gap:.0e} "
    evidence += "nats"
    return Verdict(within_error(off, error) and gap < 1e-9, evidence)


def lengths_independent(results: Results) -> Verdict:
    """Lengths along the curves of decoders with orthogonal columns."""
    found = {name: measured(results)[name].information for name in ORTHOGONAL}
    latents, chance = (results.computed["independent"][key] for key in ("latents", "chance"))
    dependent = [name for name, each in found.items() if each > chance]
    evidence = "information between lengths along the two curves, in nats: "
    evidence += ", ".join(f"{name} {each:.3f}" for name, each in found.items())
    evidence += f" (chance: up to {chance:.3f}). The latents themselves are independent "
    evidence += f"({latents:.3f}), whatever the decoder"
    return Verdict(not dependent, evidence)


def independent_by_speed(results: Results) -> Verdict:
    """Lengths are dependent where a speed depends on the other latent, and nowhere else."""
    said: dict[bool, list[str]] = {True: [], False: []}
    wrong, chance = [], results.computed["independent"]["chance"]
    for name, found in measured(results).items():
        each, separate = found.information, DECODERS[name].separate
        said[separate].append(f"{name} {each:.3f}")
        if (each > chance) == separate:
            wrong.append(name)
    evidence = f"information in nats, speeds of their own latent: {', '.join(said[True])}; "
    evidence += f"of both: {', '.join(said[False])} (chance: up to {chance:.3f})"
    return Verdict(not wrong, evidence)


def product_lacks_contrast(results: Results) -> Verdict:
    """Counted densities exceed products along oblique curves by the contrast."""
    found = {name: each for name, each in measured(results).items() if name in OBLIQUE}
    off = np.concatenate([each.products - each.local_gap for each in found.values()])
    error = np.concatenate([each.error for each in found.values()])
    pairs = {name: (each.gap, each.contrast) for name, each in found.items()}
    apart = max(abs(gap - contrast) for gap, contrast in pairs.values())
    evidence = "the product lacks, in nats: "
    evidence += ", ".join(f"{name} {gap:.3f}" for name, (gap, _) in pairs.items())
    evidence += f" (off the IMA contrast by {apart:.0e}); counted, what it lacks is off by "
    evidence += f"{np.abs(off / error).max():.1f} counting errors at most"
    large = min(gap for gap, _ in pairs.values()) > ROUNDING
    return Verdict(large and apart < 1e-6 and within_error(off, error), evidence)
