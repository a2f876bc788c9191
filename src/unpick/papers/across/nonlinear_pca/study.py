"""NonlinearPCA against what is planted, against other methods, and against hindsight."""

from functools import partial

from unpick.papers.across.nonlinear_pca import claims
from unpick.papers.across.nonlinear_pca.cells import cells
from unpick.papers.across.nonlinear_pca.choice import (
    add_choices,
    compute_choice,
    disentanglement_in_use,
)
from unpick.papers.across.nonlinear_pca.figures import draw_choice, draw_recovery
from unpick.papers.across.nonlinear_pca.readings import (
    compute_files,
    compute_linear,
    compute_planted,
    compute_real,
)
from unpick.papers.across.nonlinear_pca.tabulate import tabulate
from unpick.probe.measures import alignment, polarization
from unpick.study.study import Claim, Drawing, Study, trained

STUDY = Study(
    name="nonlinear-pca",
    title="NonlinearPCA: what it recovers, what it chooses, and where it loses to PCA",
    source="A study of our own",
    about="""NonlinearPCA chooses beta, the number of components and a restart without labels
(docs/nonlinear-pca.md states the rule). Three questions. First, planted tables: a linear Gaussian
model in 10 columns, a bent sheet, a rolled-up sheet, a spiral in the plane, synth-nonlin (three
draws of its network), and the bent sheet with seven irrelevant columns of noise; 1000 rows, three
seeds. Recovery is the mean rank correlation of factors with the component that is matched to each
(MCC). Local directions are those of the decoder at each row; their angle to the direction in which
the row moves with a factor is averaged over rows and factors, for methods that have a decoder. The
factors' directions are at right angles except in synth-nonlin. All methods are told the number of
components, except in the second column of NonlinearPCA. A linear network is tried on linear
Gaussian data with three sources and twelve levels of noise, from a thirtieth of the weakest source
to most of it.

Second, real tables that scikit-learn ships, standardised. Each half of the rows is fitted with 5
components, and the other half is reconstructed and its target predicted from the components by a
linear model (accuracy, or R^2 for diabetes; five folds each). MNIST, if its files are there, is
4000 of its images, pixels as they are; California housing is no table that ships. Stability is the
rank correlation of the components of the two halves, matched, over all rows.

Third, the choice, on 13 data sets with known factors: ten point clouds, sprites of 32 pixels with
16 rows, rooms and heads of 16 pixels. (Left out: circles, whose factors are categories but for
one.) The estimator's own search has eight betas, and
three restarts each, on 5000 rows at most and three draws of the held-out rows (one for images);
beta 1 and 4 (of the scaled table; plain runs see data in their own units, where no latent may be
active at such betas) are trained beside them. Then the estimator is fitted to the
same rows with its defaults but three restarts, and its components are scored. And plain beta-VAEs
are trained at ten betas with three seeds each, without the turning step of the estimator: the case
of `unpick select`. The rule chooses a beta and a restart from held-out evidence and agreement. Its
DS is compared with the best mean DS over all betas, in hindsight (a share above 1 counts as 1);
with the beta of the highest UDR; and with beta 1 and 4. DS is of the active latents, since nobody
is given the others; a model without any has DS 0. (A seed of synth-nonlin draws another network
for another number of points, so these are not the draws of the study beta-search.) In the table,
`chosen` is 2 for the run that is kept and 1 for the others at its beta.

The rule was fixed on linear-gaussian, bent and synth-nonlin before this study was run. Two things
changed while it was built: the number of components became the number found again instead of the
number active, and the refinement of beta was bounded by a factor of three. One thing changed after
the first look at the results: DS had been of all latents, and the highest values on synth-nonlin
were those of models without an active latent. The rule did not change then. All tables were first
fitted with at most 2000 steps and 3 restarts; the planted ones then with the default of 4000
steps, since a spiral was not unrolled in 2000. Images, MNIST, angles and the scores of the fitted
estimator were added later, with the rule and all settings as they were. Then
six of the 13 data sets of the choice were added, named before one of them was run, since seven
had decided little; and averages over data sets, which had been compared with 0.9 as they are, are
judged by a t-test over data sets. Before the results on this page the rule changed once more,
because it was found to fail on tables that are not in this study: on one it gave up 36 nats of
evidence for agreement, and linear networks took 10 components of 3. Since then betas with less
evidence than linear PCA are left out, a linear network is probabilistic PCA with the number of
components that held-out rows show, and shares above 1 count as 1. Everything was run again with
that rule, on another machine. Images and MNIST then differ from the first run also where the rule
plays no part (the share of beta 1 on sprites was 0.46 and is 0.26): they have one draw of the
rows.""",
    cells=cells,
    measures=("DS", "UDR", "evidence", "active", "DtO", "chosen"),
    claims=(
        *(
            Claim(
                f"On every curved table NonlinearPCA recovers the factors better than {other}.",
                trained(partial(claims.recovers_more, other=other)),
            )
            for other in ("PCA", "KernelPCA", "FastICA", "Isomap")
        ),
        *(
            Claim(
                "On every curved table its local directions are closer to those of the factors "
                f"than {other}'s.",
                trained(partial(claims.points_closer, other=other)),
            )
            for other in ("PCA", "FastICA")
        ),
        Claim(
            "On every curved table it explains more variance than PCA with as many components.",
            trained(claims.explains_more),
        ),
        Claim(
            "It finds the number of factors of every planted table, for every seed.",
            trained(claims.finds_the_number),
        ),
        Claim(
            "Where noise is planted alike in all columns, its variance is found within a fifth.",
            trained(claims.finds_the_noise),
        ),
        Claim(
            "A linear network gives the answer of probabilistic PCA on linear Gaussian data, at "
            "every noise: the planted number of components, PCA's directions in PCA's order, and "
            "the noise variance within 5 %.",
            trained(claims.linear_is_ppca),
        ),
        Claim(
            "In the estimator's own search the restart that is kept has 90 % of the best DS in "
            "hindsight, on average over data sets.",
            trained(partial(claims.choice_is_good, source="search", what="kept")),
        ),
        Claim(
            "The components of the fitted estimator have 90 % of the best DS in hindsight, on "
            "average over data sets.",
            trained(partial(claims.choice_is_good, source="search", what="fitted")),
        ),
        Claim(
            "Of plain runs (`unpick select`) the rule keeps one with 90 % of the best DS in "
            "hindsight, on average over data sets.",
            trained(partial(claims.choice_is_good, source="runs", what="kept")),
        ),
        *(
            Claim(
                f"{where} the chosen beta has a higher DS than {text}, on average over data sets.",
                trained(partial(claims.choice_beats, source=source, other=other)),
            )
            for source, where in (
                ("search", "In the estimator's own search"),
                ("runs", "Of plain runs"),
            )
            for other, text in (
                ("UDR", "the beta of the highest UDR"),
                ("beta 1", "beta 1"),
                ("beta 4", "beta 4"),
            )
        ),
        Claim(
            "On every real table it explains more of held-out rows than PCA with as many "
            "components.",
            trained(partial(claims.on_real, quantity="explained")),
        ),
        Claim(
            "On every real table a linear model on its components predicts better than on PCA's.",
            trained(partial(claims.on_real, quantity="accuracy")),
        ),
        Claim(
            "On every real table its components are more stable between halves than PCA's.",
            trained(partial(claims.on_real, quantity="stability")),
        ),
    ),
    drawings=(
        Drawing(
            "recovery",
            "Recovery of planted factors",
            "MCC of each method; bars are means over three seeds, lines go from the lowest to "
            "the highest.",
            draw_recovery,
        ),
        Drawing(
            "choice",
            "The beta that is chosen without labels",
            "DS of beta-VAEs over beta; a point a seed. The orange line is what the rule chooses.",
            draw_choice,
        ),
    ),
    read=(alignment, polarization, disentanglement_in_use),
    together=add_choices,
    computed={
        "linear": compute_linear,
        "planted": compute_planted,
        "real": compute_real,
        "files": compute_files,
        "choice": compute_choice,
    },
    tables=tabulate,
    stores_computed=True,
)
