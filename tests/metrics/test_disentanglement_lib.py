"""Metrics against the answers of disentanglement_lib 1.5, for the same codes and the same draws.

`reference/make_disentanglement_lib.py` says how the answers were made. They come from the same
versions of numpy and scikit-learn, so only the order of sums may differ, and for boosted trees the
vector unit of the machine.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from unpick.metrics import interventions
from unpick.metrics.agreement import udr
from unpick.metrics.importance import dci, dci_from_importances
from unpick.metrics.information import mutual_information_gap
from unpick.metrics.interventions import (
    factor_vae_votes,
    majority_accuracy,
    pair_differences,
    vote_table,
)
from unpick.metrics.irs import irs
from unpick.metrics.modularity import modularity_explicitness
from unpick.metrics.separability import sap

FILE = Path(__file__).with_name("reference") / "disentanglement_lib.npz"
TABLES = ("aligned", "shuffled", "rotated", "pruned", "duplicated")
PARTS = ("train", "test")

close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)
each_table = pytest.mark.parametrize("table", TABLES)


@pytest.fixture(scope="module")
def lib():
    """Everything in the file; counts and row numbers as int64, the rest as float64."""
    with np.load(FILE) as arrays:
        return {
            key: array.astype(np.int64 if array.dtype.kind == "u" else np.float64)
            for key, array in arrays.items()
        }


def points(lib, table, rows):
    return lib[f"codes/{table}"][lib[rows]], lib["factors"][lib[rows]]


@each_table
@pytest.mark.parametrize(("bins", "key"), [(20, "mig"), (7, "mig7")])
def test_mutual_information_gap(lib, table, bins, key):
    ours = mutual_information_gap(*points(lib, table, "train"), bins=bins)
    close(ours.matrix, lib[f"{table}/{key}/matrix"])
    close(ours.entropies, lib["mig/entropies"])
    close(ours.score, lib[f"{table}/{key}/score"])


@each_table
def test_modularity_and_explicitness(lib, table):
    ours = modularity_explicitness(
        *points(lib, table, "train"), test=points(lib, table, "test"), bins=20
    )
    close(ours.matrix, lib[f"{table}/mig/matrix"])
    close(ours.modularity, lib[f"{table}/modularity/score"])
    close(ours.per_factor, lib[f"{table}/explicitness/per_factor"])
    close(ours.explicitness, lib[f"{table}/explicitness/score"])
    close(ours.explicitness_train, lib[f"{table}/explicitness/train"])


@each_table
@pytest.mark.parametrize(("continuous", "key"), [(False, "sap"), (True, "sap_continuous")])
def test_separated_attribute_predictability(lib, table, continuous, key):
    codes, factors = points(lib, table, "train")
    ours = sap(codes, factors, test=points(lib, table, "test"), continuous=continuous)
    close(ours.matrix, lib[f"{table}/{key}/matrix"])
    close(ours.score, lib[f"{table}/{key}/score"])


@each_table
def test_disentanglement_and_completeness_of_importances(lib, table):
    ours = dci_from_importances(lib[f"{table}/dci/matrix"])
    close(ours.disentanglement, lib[f"{table}/dci/disentanglement"])
    close(ours.completeness, lib[f"{table}/dci/completeness"])
    close(ours.per_latent, lib[f"{table}/dci/per_latent"])
    close(ours.per_factor, lib[f"{table}/dci/per_factor"])


@pytest.mark.slow
@pytest.mark.parametrize("table", ["rotated", "pruned", "duplicated"])
def test_dci(lib, table):
    # The library breaks ties between latents with numpy's global generator, seeded with 0.
    bits = np.random.MT19937()
    bits.state = np.random.RandomState(0).get_state(legacy=False)
    ours = dci(
        *points(lib, table, "dci/train"),
        test=points(lib, table, "dci/test"),
        rng=np.random.Generator(bits),
    )
    # As the library fits them, here: exponentials differ in the last bit between machines with and
    # without AVX-512, and of two splits that tie but for that bit the other one may be taken.
    draws = np.random.RandomState(0)
    (codes, factors), (unseen, answers) = (points(lib, table, f"dci/{part}") for part in PARTS)
    learner = partial(GradientBoostingClassifier, random_state=draws)
    trees = [learner().fit(codes, factor) for factor in factors.T]
    expected = dci_from_importances(np.stack([each.feature_importances_ for each in trees], 1))
    close(ours.matrix, expected.matrix)
    close(ours.disentanglement, expected.disentanglement)
    close(ours.completeness, expected.completeness)
    close(ours.informativeness_train, right(trees, codes, factors))
    close(ours.informativeness, right(trees, unseen, answers))
    near = partial(np.testing.assert_allclose, rtol=0, atol=0.01)
    near(ours.matrix, lib[f"{table}/dci/matrix"])
    near(ours.disentanglement, lib[f"{table}/dci/disentanglement"])
    near(ours.completeness, lib[f"{table}/dci/completeness"])
    near(ours.informativeness, lib[f"{table}/dci/informativeness_test"])
    near(ours.informativeness_train, lib[f"{table}/dci/informativeness_train"])


def right(trees, codes, factors):
    """The share that they get right, over all factors."""
    return np.mean([tree.score(codes, f) for tree, f in zip(trees, factors.T, strict=True)])


@each_table
@pytest.mark.parametrize(
    ("quantile", "factor_bins", "key"),
    [
        (0.99, 20, "irs_0.99_20"),
        (0.99, None, "irs_0.99_20"),  # no factor has more than 20 values
        (0.99, 3, "irs_0.99_3"),
        (1.0, 20, "irs_1.0_20"),
    ],
)
def test_interventional_robustness(lib, table, quantile, factor_bins, key):
    codes, factors = points(lib, table, "train")
    ours = irs(codes, factors, quantile=quantile, factor_bins=factor_bins)
    varies = np.ptp(codes, axis=0) > 0  # the library drops the others
    close(ours.matrix[varies], lib[f"{table}/{key}/matrix"])
    close(ours.per_latent[varies], lib[f"{table}/{key}/per_latent"])
    close(ours.weights[varies], lib[f"{table}/{key}/max_deviations"])
    close(ours.score, lib[f"{table}/{key}/score"])
    assert not ours.weights[~varies].any()


@each_table
def test_factor_vae_score(lib, table):
    codes = lib[f"codes/{table}"]
    variances = codes[lib["factor_vae/variance_rows"]].var(axis=0, ddof=1)
    close(variances, lib[f"{table}/factor_vae/variances"])
    votes = factor_vae_votes(codes, lib["factor_vae/rows"], variances, 0.05)
    assert np.array_equal(votes, lib[f"{table}/factor_vae/vote"])
    held, train = lib["factor_vae/factor"], 300
    fitted = vote_table(votes[:train], held[:train], 5, 4)
    tested = vote_table(votes[train:], held[train:], 5, 4)
    close(majority_accuracy(fitted, fitted), lib[f"{table}/factor_vae/train_accuracy"])
    close(majority_accuracy(fitted, tested), lib[f"{table}/factor_vae/eval_accuracy"])


@each_table
def test_beta_vae_score(lib, table, monkeypatch):
    codes, drawn = lib[f"codes/{table}"], (lib["beta_vae/pairs"], lib["beta_vae/factor"])
    close(pair_differences(codes, drawn[0][:50]), lib[f"{table}/beta_vae/features"])
    monkeypatch.setattr(interventions, "shared_factor_pairs", lambda *_: drawn)
    ours = interventions.beta_vae_score(codes, lib["factors"], train=400, evaluations=200)
    close(ours.train_accuracy, lib[f"{table}/beta_vae/train_accuracy"])
    close(ours.score, lib[f"{table}/beta_vae/eval_accuracy"])


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
def test_unsupervised_disentanglement_ranking(lib, variant):
    codes = [lib[f"codes/{table}"][lib["udr/rows"]] for table in TABLES]
    ours = udr(codes, list(lib["udr/kl"]), variant=variant)
    close(ours.matrix, lib[f"udr/{variant}/matrix"])
    close(ours.per_model, lib[f"udr/{variant}/per_model"])
