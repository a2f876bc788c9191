"""The KL as a budget of precision (Rolinek et al. 2019, section 4; Zietlow 2022, 3.2.4, 3.2.5)."""

from functools import partial
from math import exp, sqrt

import numpy as np

from unpick.papers.zietlow2022.budget.claims import (
    best_angle,
    columns_exceed_volume,
    expected_cost,
    inverse_to_columns,
    kl_minimum,
    minimum,
    price_of_information,
    symmetry,
    twice_as_high,
)
from unpick.papers.zietlow2022.budget.figures import (
    broken_symmetry,
    equal_volumes,
    kl_landscape,
    worked_example,
)
from unpick.papers.zietlow2022.budget.readings import COMPUTED, SHOWN
from unpick.papers.zietlow2022.budget.svd_figure import singular_steps
from unpick.papers.zietlow2022.ledger.budget import EXAMPLE
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="budget",
    title="The KL as a budget of precision",
    source="Rolinek et al. (2019), section 4; Zietlow (2022), sections 3.2.4 and 3.2.5, figures "
    "2.4 and 3.1 to 3.3",
    about="Why a VAE turns its latent space: noise on the latents costs reconstruction, precision "
    "costs KL, and with a diagonal posterior the same KL buys most where the decoder's columns "
    "are orthogonal. Nothing is trained; every claim is checked by a search, by quadrature or by "
    "drawing noise, not by the formula that it is about.\n\n"
    "One correction: with the budget as printed, the sum of -log sigma_j^2 equal to C, the "
    "product sigma_x sigma_y is e^(-C/2), so the least costs of the worked example are 24.5 "
    "e^(-C/2) and 52.4 e^(-C/2). Both documents print e^(-C), which would be right for the sum of "
    "-log sigma_j. The comparison that the example is about, a factor of 2.14, does not change. "
    "The example's first decoder is close to the best angle, not at it.",
    claims=(
        Claim("Noise on the example's latents costs 50 sigma_x^2 + 3 sigma_y^2.", expected_cost),
        Claim(
            "As printed: with sum -log sigma_j^2 = C the least costs are 24.5 e^(-C), and 52.4 "
            "e^(-C) when turned by 45 degrees (Zietlow 2022, eq. 3.21, 3.22; Rolinek et al. 2019, "
            "eq. 25, 26).",
            partial(minimum, 1.0),
        ),
        Claim(
            "Corrected: the least costs are 24.5 e^(-C/2) and 52.4 e^(-C/2).",
            partial(minimum, 0.5),
        ),
        Claim(
            "Turning the example by 45 degrees more than doubles the least cost.", twice_as_high
        ),
        Claim(
            "The best variances are inverse to the columns' squared lengths.", inverse_to_columns
        ),
        Claim(
            "Columns' lengths multiply to at least the volume, the product of singular values; to "
            "no more only if they are orthogonal (Zietlow 2022, eq. 3.24).",
            columns_exceed_volume,
        ),
        Claim(
            "The best angle of the latent space is that of the singular directions.", best_angle
        ),
        Claim(
            "With a full-covariance posterior the angle does not matter.",
            partial(symmetry, "full"),
        ),
        Claim(
            "With a diagonal posterior the loss is least at the singular directions.",
            partial(symmetry, "diagonal"),
        ),
        Claim("The KL is least at mean 0 and variance 1.", kl_minimum),
        Claim(
            "If the codes as a whole keep the prior's variance, a latent's KL is its precision: "
            "-log(sigma^2) / 2.",
            price_of_information,
        ),
    ),
    drawings=(
        Drawing(
            "symmetry",
            "A diagonal posterior breaks the symmetry of the prior",
            "Above: circles are the prior, which looks the same from every angle. Filled ellipses "
            "are the best diagonal posteriors, outlines the best full ones; all have the same "
            "area, so the same budget. When the latent space turns (right), outlines turn along "
            "while filled ellipses must stay upright and become rounder. Below: what the noise "
            "then costs. It is the same at every angle for the full posterior, but for the "
            "diagonal one least where the axes are singular directions of the decoder.",
            lambda results: broken_symmetry(EXAMPLE),
        ),
        Drawing(
            "example",
            "How to spend a budget of precision",
            f"Above: cost of the noise when C = {SHOWN:g} is divided between two latents, for the "
            "example's decoder and for the same turned by 45 degrees; dots are the cheapest "
            "divisions. No division reaches the printed minimum. Below: turning changes the "
            "product of column lengths, to which the least cost is proportional.",
            lambda results: worked_example(EXAMPLE, SHOWN, 2 * sqrt(150) * exp(-SHOWN)),
        ),
        Drawing(
            "volume",
            "Equal areas, shorter columns",
            "The columns of the example's decoder in their plane. Turning the latent space keeps "
            "the area that they span, so their lengths multiply to least when they are "
            "orthogonal. (The area is the lengths' product times the sine of the angle between "
            "them; the documents write a cosine, of the angle that is missing to a right one.)",
            lambda results: equal_volumes(EXAMPLE),
        ),
        Drawing(
            "kl",
            "What a latent pays",
            "KL of one latent over mean and log variance. The star, where posterior and prior "
            "coincide, is free and tells nothing. To carry information a latent moves its means "
            "apart and lowers its variance, here along the orange line, on which the codes as a "
            "whole keep the prior's variance; each halving of the deviation costs 0.69 nats.",
            lambda results: kl_landscape(),
        ),
        Drawing(
            "svd",
            "A decoder and its encoder in three steps",
            "After figure 2.4. The decoder M = U Sigma V^T, from right to left, turns a cloud of "
            "codes, stretches it along the axes, and turns again; the encoder, from left to "
            "right, undoes this. Blue and orange: the latents' axes, and what becomes of them. "
            "Dotted: the singular directions, which stay orthogonal; blue and orange do not. "
            "A VAE with a diagonal posterior chooses its axes so that V is not needed. (Data have "
            "two dimensions here; if they had more, Sigma would embed and its pseudo-inverse drop "
            "them.)",
            lambda results: singular_steps(np.array([[1.5, 1.0], [0.2, 1.2]])),
        ),
    ),
    computed=COMPUTED,
)
