"""Theorems 1 and 2 and figure 1 of Allen (2024): what of a decoded prior is independent."""

from unpick.papers.allen2024.pushforward.claims import (
    densities_multiply,
    density_as_counted,
    independent_along_singular,
    independent_by_speed,
    lengths_independent,
    product_lacks_contrast,
)
from unpick.papers.allen2024.pushforward.decoders import COMPUTED, SAMPLES
from unpick.papers.allen2024.pushforward.figures import draw_both, draw_lengths, draw_lines
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="allen-pushforward",
    title="Orthogonal columns and independent components",
    source="Allen (2024), theorems 1 and 2, figure 1",
    about=f"""A decoder carries the prior to a distribution on its image. Theorem 1 says that for
a linear decoder this is a product of independent components along left singular vectors; theorem
2 says the same of every decoder whose Jacobian has orthogonal columns. This study measures nine
decoders of two latents, six with orthogonal columns and three without; nothing is trained.
Densities are counted from draws, by area in a small disc and by length along a curve, so that no
formula is judged by itself.

Theorem 2 can be read in two ways. First, the density at a point is the product of the densities
along the curves through it. This holds, and only for orthogonal columns: otherwise the product
lacks the IMA contrast. Second, the factors belong to independent components. This is another
matter: the factor of a curve is a density by length along it, and lengths along the two curves
are independent if the speed along each depends on its own latent alone. On a helicoid or a sphere
it does not, and the lengths are dependent. Orthogonal columns are neither necessary nor
sufficient for independence. (The latents themselves are independent by assumption, for any
decoder.) The corrected statement is in the ledger: A-T1, A-T2.

Information is estimated from nearest neighbours (Kraskov et al. 2004) on normal scores of
{SAMPLES} draws; chance is the largest of a hundred estimates for independent numbers.""",
    claims=(
        Claim(
            "The density of the decoded prior is p(z) over the product of singular values "
            "(eq. 9, 12).",
            density_as_counted,
        ),
        Claim(
            "Theorem 1: under a linear decoder, components along left singular vectors are "
            "independent, and the density is the product of theirs.",
            independent_along_singular,
        ),
        Claim(
            "Theorem 2, of densities: with orthogonal columns the density is the product of "
            "densities along the curves of the latents (eq. 13).",
            densities_multiply,
        ),
        Claim(
            "Theorem 2, of components: with orthogonal columns what lies along these curves is "
            "statistically independent.",
            lengths_independent,
        ),
        Claim(
            "Corrected (ledger A-T2): lengths along the curves are independent where each "
            "curve's speed depends on its own latent alone, with orthogonal columns or without.",
            independent_by_speed,
        ),
        Claim(
            "Without orthogonal columns (section 3.2.3) densities along the latents do not "
            "multiply to the density: they lack the IMA contrast.",
            product_lacks_contrast,
        ),
    ),
    drawings=(
        Drawing(
            "allen-1",
            "Lines that stay orthogonal",
            "After figure 1. Blue: sub-manifolds of the latent space through a point; orange: "
            "the same, decoded. Arrows: singular vectors of the Jacobian at that point. A linear "
            "decoder (left) carries lines along its right singular vectors to lines along its "
            "left ones, but the standard grid (grey) to an oblique one. With orthogonal columns "
            "(right) the lines are those of the standard grid, and its image is a net of curves "
            "that cross at right angles. The decoder on the right is a strip bent in space: each "
            "singular value depends on its own latent alone, so that lengths along the curves "
            "are independent, too (theorem 2, as the ledger corrects it). In a plane such curves "
            "could only be straight. The darker, the denser.",
            draw_lines,
        ),
        Drawing(
            "lengths",
            "Orthogonal, but not independent",
            "Draws from the prior, by their lengths along the curves of the two latents, for "
            "three decoders with orthogonal columns. Orange: 10, 50 and 90 % of the second length "
            "among draws with a similar first. On the strip the lines are level: the lengths are "
            "independent. On the helicoid the second spreads as the first grows in size; on the "
            "sphere it shrinks.",
            draw_lengths,
        ),
        Drawing(
            "gap-and-information",
            "Two different questions",
            "Orange names: orthogonal columns; blue: oblique ones. Left, whether densities along "
            "the latents multiply: they do for orthogonal columns alone. Right, whether lengths "
            "along the curves are independent (shaded: as good as independent): the columns' "
            "angles do not decide that.",
            draw_both,
        ),
    ),
    computed=COMPUTED,
)
