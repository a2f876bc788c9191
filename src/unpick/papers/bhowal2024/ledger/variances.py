"""Posterior variances and column lengths over a data set (Bhowal et al. 2024, section 3.5)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import Kind

Array = np.ndarray
Lengths = Float[Array, "n d"]  # of the columns of each observation's local decoder


def _lengths(draw: np.random.Generator, kind: Kind) -> Lengths:
    """Up to three observations and latents; `equal`: all have the same local decoder."""
    n, d = draw.integers(2, 4, 2)
    lengths = np.exp(draw.normal(size=(n, d)) * (2 if kind == "scaled" else 1))
    return np.repeat(lengths[:1], n, axis=0) if kind == "equal" else lengths


def best_variances(lengths: Lengths) -> Lengths:
    """Noise that costs least at a given KL loss of all observations together, by a search.

    With orthogonal columns the cost is the sum over observations and latents of variance times
    squared length, and the KL loss, in the polarized regime, the negative sum of log-variances.
    """
    squares = np.square(lengths).ravel() / np.square(lengths).mean()

    def cost(logs: Float[Array, "k"]) -> tuple[float, Float[Array, "k"]]:
        each = squares * np.exp(logs - logs.mean())
        return float(np.log(each.sum())), each / each.sum() - 1 / len(logs)

    found = minimize(cost, np.zeros(lengths.size), jac=True, options={"gtol": 1e-10})
    return np.exp(found.x - found.x.mean()).reshape(lengths.shape)


def _variance_violation(
    claimed: Callable[[Lengths], Float[Array, "d"]], lengths: Lengths
) -> float:
    """Relative error of mean variances, up to a factor, and of the order of single ones."""
    found = best_variances(lengths)
    ratio = claimed(lengths) / found.mean(0)
    order = found[:, :, None] - found[:, None]
    longer = lengths[:, :, None] - lengths[:, None]
    reversed_pairs = np.where(np.abs(longer) > 1e-6, order * longer > 0, False)
    return float(max(ratio.max() / ratio.min() - 1, reversed_pairs.any()))


MEAN_VARIANCES: Entry[Callable[[Lengths], Float[Array, "d"]]] = Entry(
    id="B-S3.5",
    source="Bhowal et al. (2024), section 3.5",
    title="Latents of longer columns have less noise",
    statement="The mean posterior variance of a latent is proportional to the mean, over "
    "observations, of one over the squared length of its column. At each observation latents "
    "with longer columns have smaller variances, and so contribute more to the KL loss.",
    formula=r"E_i (\sigma_j^{(i)})^2 \propto E_i [1 / \|c_j^{(i)}\|^2]",
    assumptions="Local decoders with orthogonal columns, in the polarized regime. Noise costs "
    "least at a given KL loss of the data set, and costs are summed over observations, as in "
    "eq. 5.",
    printed=lambda lengths: (1 / np.square(lengths)).mean(0),
    check=Everywhere(
        _variance_violation,
        _lengths,
        "sets of 2 or 3 observations with 2 or 3 latents (best noise by searches)",
        ("plain", "scaled", "equal"),
        count=15,
        tolerance=1e-5,
        names=("lengths",),
    ),
    mutation=Mutation(
        "one over the mean of squared lengths", lambda lengths: 1 / np.square(lengths).mean(0)
    ),
    remark="The text goes on with $= 1/\\|c_j\\|^2$, which is meant for one local decoder for all "
    "observations, and cites a part (d) of theorem 1, which in the text that we have is part (c). "
    "Under the sum of logarithms of eq. 10 precision moves freely between observations, and the "
    "proportion holds for one common decoder only. Where decoders differ, the latent with the "
    "smaller mean variance need not have the larger mean KL: squared lengths 1, 1 and 0.1, 20 "
    "give mean variances as 1 to 5 but KL losses as 0 to $\\log(2)/2$. The text says that "
    "principal axes with higher variances correspond to smaller singular values: so it is with "
    "variances of the posterior, which are meant; with variances of the data it is the other way "
    "around.",
)
ENTRIES = (MEAN_VARIANCES,)
