"""Tables 1 and 2 of Bhowal et al. (2024): linear and nonlinear local decoders and Jacobians."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from matplotlib.figure import Figure

from unpick.data import Dataset
from unpick.geometry import fit_local_decoder
from unpick.papers.bhowal2024 import settings as bhowal
from unpick.papers.bhowal2024.local.claims import (
    by_fitting,
    gains_as_published,
    lower,
    mostly_even,
    never_fitted,
    rising,
    vae_largest,
    vae_least,
)
from unpick.papers.bhowal2024.local.figures import Change, Sizes, changes, sizes
from unpick.papers.bhowal2024.local.readings import OBSERVATIONS, local_decoders
from unpick.plots.comparison import Entry
from unpick.plots.restart_scores import grouped_scores
from unpick.probe import probe_run
from unpick.runs import Run
from unpick.study.study import Cell, Claim, Drawing, Results, Scale, Study, trained

UNIT = (
    "our errors are shares of the decoder's change, published ones have a unit that the paper "
    "does not tell: compare orders, not numbers"
)
SHOWN = {
    "Jacobian": "Jacobian",
    "linear": "line",
    "nonlinear": "tanh",
    "even": "no odd map can leave less",
}
PICTURED = 0  # which of the observations is shown


def cells(scale: Scale) -> Sequence[Cell]:
    """Three objectives on each data set."""
    made = bhowal.cells(scale, "bhowal-local")
    return [replace(cell, note="; ".join(filter(None, (cell.note, UNIT)))) for cell in made]


def draw_errors(results: Results) -> Figure | None:
    """Residuals, a panel a data set."""
    panels = {
        row: {
            column: [Entry(name, outcome.values[key]) for key, name in SHOWN.items()]
            for column, outcome in columns.items()
        }
        for row, columns in results.rows().items()
    }
    return grouped_scores(panels, "relative residual") if panels else None


def draw_sizes(results: Results) -> Figure | None:
    """Errors against the width of the posterior, like for like and as released."""
    names = ("noise", "nonlinear", "released linear")
    panels = {
        row: {
            column: Sizes(*(outcome.values[name] for name in names))
            for column, outcome in columns.items()
        }
        for row, columns in results.rows().items()
    }
    if not panels:
        return None
    return sizes(panels, results.outcomes[0].cell.config.model.latents)


def draw_changes(row: str, results: Results) -> Figure | None:
    """One observation, one draw of white noise, each model of a data set."""
    columns = results.rows().get(row)
    if not columns:
        return None
    dataset = next(iter(columns.values())).cell.config.data.load()
    return changes({name: change(o.runs[0], dataset) for name, o in columns.items()})


@torch.no_grad()
def change(run: Run, dataset: Dataset) -> Change:
    """What the noise does to one observation, and what each local decoder says of it."""
    probe = probe_run(run, dataset, PICTURED + 1).at(torch.tensor([PICTURED]))
    decode, mean, variance = probe.decoder, probe.mean, probe.variance
    assert variance is not None
    white = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0))
    noise = white * variance.sqrt()
    line, curved = (
        fit_local_decoder(decode, mean, variance.sqrt(), nonlinearity=f).matrices[0] @ noise[0]
        for f in ("linear", "tanh")
    )
    before, after = decode(mean)[0], decode(mean + noise)[0]
    maps = {
        "Jacobian": probe.jacobians[0] @ noise[0],
        "line": line,
        "tanh": curved.tanh(),
    }
    return Change(before, after, {name: each.view_as(before) for name, each in maps.items()})


STUDY = Study(
    name="bhowal-local",
    title="Local decoders: Jacobian, line and tanh",
    source="Bhowal et al. (2024), tables 1 and 2",
    about=f"""Within the posterior of one observation, noise changes what is decoded by
Dec(mu + eps) - Dec(mu), and a local decoder f(M eps) is to say by how much. The paper compares f
linear with one nonlinearity (table 1), and the latter with the Jacobian at the mean (table 2,
A.8.2). Here f is the identity or tanh, which the released code has. M is fitted for each of
{OBSERVATIONS} test observations, the same for every model, with the same noise and steps for all;
errors are squared ones of the mean decoder, after its sigmoid, on fresh noise. Neither epochs nor
batch size are printed: "instead of" refers to 50 epochs of 128, which is our choice. So is the
Bernoulli likelihood: the paper argues with the squared error, its code learns a scale for each
pixel. Beta stays at 6 where images are smaller, and weighs four times as much at 32 pixels as at
64.

Our errors are relative. "linear", "nonlinear", "Jacobian": what is left of the change, as a share
of its square; 0 is exact, 1 as good as saying that nothing changes. With "loss": the square of the
relative error of the stochastic loss, summed over observations, which asks for the size of the
change only. A fit by least squares is smaller than what it is fitted to by just what it leaves, so
that its number here is about the square of the other one.

The paper does not say what its errors are divided by, and its released code prints something else:
with A the mean square change and P that of what the fit leaves, (A - P)^2, which is A^2 for a
perfect fit and 0 for one as good as nothing; for the Jacobian a mean less a norm. So published
numbers and ours have different units, and none of ours is a failed attempt at theirs. What can be
compared is their order, and the share of the linear error that the nonlinearity takes away.
"released" marks what that code prints with its defaults: ten draws, one step of gradient descent
from a random start. A term of its loss that differs by model is left out; which settings made the
tables is not known.

P-values are those of Wilcoxon's signed ranks, one-sided, over the observations of one model, for
the loss over each observation's own error, which need not go with that of the sum: the
differences are skewed, and the paper does not name its test. They speak of other observations of
that model, not of other models; for those see the spread over seeds. At quick scale no model is
trained to the end, and their order has no verdict.""",
    cells=cells,
    measures=(
        "linear",
        "nonlinear",
        "Jacobian",
        "Jacobian, loss",
        "nonlinear, loss",
        "released linear",
        "released nonlinear",
        "released Jacobian",
    ),
    claims=(
        Claim(
            "Table 1, like for like: the nonlinear local decoder leaves less than the linear one, "
            "for every model and data set.",
            partial(lower, "linear", "nonlinear"),
        ),
        Claim(
            "It is much more accurate: of the linear error it takes away at least half as large a "
            "share as in table 1.",
            gains_as_published,
        ),
        Claim(
            "Errors rise from VAE over beta-VAE to beta-TCVAE, as in every row of table 1; like "
            "for like.",
            trained(partial(rising, ("linear", "nonlinear"))),
        ),
        Claim(
            "The same order in the numbers of the released code.",
            trained(partial(rising, ("released linear", "released nonlinear"))),
        ),
        Claim(
            "Beyond the paper: with the code's defaults those are the numbers of a layer that was "
            "never fitted; its one step changes them by less than 1 %.",
            never_fitted,
        ),
        Claim(
            "Beyond the paper: they are least for the VAE whatever is fitted, nothing at all or "
            "our line.",
            trained(partial(vae_least, ("released linear, unfitted", "released linear, fitted"))),
        ),
        Claim(
            "Table 2, like for like: the nonlinear local decoder is nearer to the stochastic loss "
            "than the Jacobian, for every model and data set.",
            partial(lower, "Jacobian, loss", "nonlinear, loss"),
        ),
        Claim(
            "The same in the numbers of the released code, where the Jacobian's is a norm over "
            "all pixels and the other a mean.",
            partial(lower, "released Jacobian", "released nonlinear"),
        ),
        Claim(
            "The VAE has the largest error of the stochastic loss, as in every row of table 2; "
            "like for like.",
            trained(partial(vae_largest, ("Jacobian, loss", "nonlinear, loss"))),
        ),
        Claim(
            "The same for the Jacobian in the numbers of the released code.",
            trained(partial(vae_largest, ("released Jacobian",))),
        ),
        Claim(
            "Like for like, change by change instead of its size alone: the nonlinear local "
            "decoder leaves less than the Jacobian.",
            partial(lower, "Jacobian", "nonlinear"),
        ),
        Claim(
            "Beyond the paper: half or more of that gain comes from fitting at the scale of the "
            "posterior, which a line does as well, and not from the nonlinearity.",
            by_fitting,
        ),
        Claim(
            "Beyond the paper: half or more of what tanh leaves is even in the noise, so that no "
            "odd nonlinearity could have it without an offset.",
            mostly_even,
        ),
    ),
    drawings=(
        Drawing(
            "local-residuals",
            "What local decoders leave of the decoder's change",
            "Relative residual on fresh noise, a dot a seed, a bar at the mean. From the Jacobian "
            "to the line is what fitting at the posterior's scale gains, from line to tanh what "
            "the nonlinearity gains. Pink: the part that is the same for eps and -eps, below "
            "which no odd map without an offset can get.",
            draw_errors,
        ),
        Drawing(
            "local-sizes",
            "Why models differ",
            "A dot a run, against the sum of its posterior variances, to which every dead latent "
            "adds 1. Left: what tanh leaves. Right: what the released code prints. The curve is "
            "computed from the variances alone, for a layer with random weights that was never "
            "fitted: the order of models there is that of their variances.",
            draw_sizes,
        ),
        *(
            Drawing(
                f"local-changes-{row}",
                f"One change and what is said of it: {row}",
                "One observation of the test part, the same draw of white noise for each model, "
                "seed 0. Red pixels become brighter, blue ones darker; one scale a row. Below a "
                "map: what it leaves of this change, as a share of its square.",
                partial(draw_changes, row),
            )
            for row in bhowal.ROWS
        ),
    ),
    read=(local_decoders,),
)
