r"""Make disentanglement_lib.npz: what disentanglement_lib 1.5 answers on small tables of codes.

The library runs as published, on draws that are written down, so that tests can hand the same
codes and the same draws to unpick. It needs an environment of its own. From the top of the
repository:

    python3.11 -m venv dlib-venv
    dlib-venv/bin/pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 \
        gin-config==0.3.0 absl-py six
    dlib-venv/bin/pip install --no-deps disentanglement_lib==1.5
    FROM=https://raw.githubusercontent.com/google-research/disentanglement_lib
    FROM=$FROM/a64b8b9994a28fafd47ccd866b0318fa30a3c76c/disentanglement_lib/evaluation
    curl -o udr.py $FROM/udr/metrics/udr.py
    OMP_NUM_THREADS=1 dlib-venv/bin/python tests/reference/make_disentanglement_lib.py udr.py

The published wheel lacks the folder evaluation/udr, hence the extra file. `--own-tests` in its
place runs the library's own tests of the other metrics in this environment.

Patched from outside: `gin.tf`, which would import TensorFlow, is an empty module. gin-config is
so old because newer ones do not know the keyword `blacklist`. No number passes through either.
The wrappers below only write down what the library's functions return.
"""

import importlib
import importlib.util
import sys
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

SIZES = (3, 4, 6, 8)
SEED = 0
N_TRAIN, N_TEST = 2000, 1000
DCI_TRAIN, DCI_TEST = 400, 200  # 2100 boosted trees take two seconds even so
BATCH = 16
THRESHOLD = 0.05
KL = {  # noise, and what `pruned` hardly uses, lie below the library's threshold of 0.01
    "aligned": [1.9, 1.2, 2.0, 0.004, 1.5],
    "shuffled": [1.4, 2.1, 1.3, 1.8, 0.006],
    "rotated": [1.0, 1.1, 1.2, 1.3, 1.4],
    "pruned": [1.7, 0.0, 2.2, 0.002, 0.9],
    "duplicated": [1.5, 1.6, 1.5, 1.1, 1.6],
}
METRICS = (
    *("mig", "modularity_explicitness", "sap_score", "dci"),
    *("irs", "factor_vae", "beta_vae", "utils"),
)


def tables(values):
    """Tables of five codes, a row a position of the grid; rounded, so that they store exactly."""
    rng = np.random.default_rng(SEED)
    noise = [rng.standard_normal((len(values), 5)) for _ in range(5)]
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    a, b, c, d = ((values - values.mean(0)) / values.std(0)).T
    aligned = np.stack([2 * c, np.tanh(b), -d, 0 * a, a], 1) + 0.2 * noise[0]
    shuffled = np.stack([-a, 2 * c, d, np.tanh(b), 0 * a], 1) + 0.2 * noise[1]
    rotated = (np.stack([a, b, c, d, noise[2][:, 0]], 1) @ turn) + 0.1 * noise[2]
    pruned = np.stack([d + 0.3 * a, 0 * a, b, 0.01 * c, c], 1)
    pruned += noise[3] * [0.2, 0.0, 0.2, 0.002, 0.4]
    duplicated = np.stack([c, a, c, b + d, -a], 1) + 0.2 * noise[4]
    duplicated[:, 2], duplicated[:, 4] = duplicated[:, 0], -duplicated[:, 1]
    made = {
        "aligned": aligned,
        "shuffled": shuffled,
        "rotated": rotated,
        "pruned": pruned,
        "duplicated": duplicated,
    }
    return {name: codes.astype(np.float32).astype(np.float64) for name, codes in made.items()}


class Grid:
    """The data set as the library sees it: an observation is a row number, and is written down."""

    num_factors = len(SIZES)
    factors_num_values = SIZES
    observation_shape = ()

    def __init__(self):
        self.drawn = []

    def sample_factors(self, num, random_state):
        return np.stack([random_state.randint(size, size=num) for size in SIZES], axis=1)

    def sample_observations_from_factors(self, factors, random_state):
        rows = np.ravel_multi_index(tuple(factors.T), SIZES)
        self.drawn.append(rows)
        return rows

    def sample(self, num, random_state):
        factors = self.sample_factors(num, random_state)
        return factors, self.sample_observations_from_factors(factors, random_state)

    def sample_observations(self, num, random_state):
        return self.sample(num, random_state)[1]


def load_library(udr_file=None):
    """The library's modules by name; gin.tf is replaced by an empty module."""
    import gin

    gin.tf = sys.modules["gin.tf"] = types.ModuleType("gin.tf")
    modules = {
        name: importlib.import_module(f"disentanglement_lib.evaluation.metrics.{name}")
        for name in METRICS
    }
    if udr_file is not None:
        spec = importlib.util.spec_from_file_location("udr", udr_file)
        modules["udr"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules["udr"])
    return gin, types.SimpleNamespace(**modules)


def recorded(module, name, into):
    """Have a function of the library append what it returns to a list."""
    function = getattr(module, name)

    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        into.append(result)
        return result

    return mock.patch.object(module, name, wrapper)


def run(function, codes, **sizes):
    """Call a metric as the library's evaluation does; returns its scores and the rows it drew."""
    grid = Grid()
    np.random.seed(SEED)  # noqa: NPY002  the library's learners use the global generator
    scores = function(grid, codes.__getitem__, np.random.RandomState(SEED), **sizes)
    return scores, grid.drawn


def split_draws(drawn, n_train):
    rows = np.concatenate(drawn)
    return rows[:n_train], rows[n_train:]


def matrices(lib, gin, codes, factors):
    """Metrics of train and test points: MIG, modularity, explicitness, SAP, IRS."""
    sizes = {"num_train": N_TRAIN, "num_test": N_TEST}
    sap, drawn = run(lib.sap_score.compute_sap, codes, continuous_factors=False, **sizes)
    train, test = split_draws(drawn, N_TRAIN)
    mig, drawn = run(lib.mig.compute_mig, codes, num_train=N_TRAIN)
    assert np.array_equal(np.concatenate(drawn), train)
    out = {"train": train, "test": test, "mig/score": mig["discrete_mig"]}
    x, y, x_test, y_test = codes[train].T, factors[train].T, codes[test].T, factors[test].T

    mi = lib.utils.discrete_mutual_info(lib.utils.make_discretizer(x), y)
    out |= {"mig/matrix": mi, "mig/entropies": lib.utils.discrete_entropy(y)}
    out["modularity/score"] = lib.modularity_explicitness.modularity(mi)
    gin.bind_parameter("discretizer.num_bins", 7)
    coarse = lib.utils.discrete_mutual_info(lib.utils.make_discretizer(x), y)
    out |= {"mig7/score": lib.mig._compute_mig(x, y)["discrete_mig"], "mig7/matrix": coarse}
    gin.bind_parameter("discretizer.num_bins", 20)

    # A constant latent divided by its deviation is no number, and the library's classifier
    # refuses it: there the score is that of the other latents.
    varies = x.std(1) > 0
    both, drawn = run(
        lib.modularity_explicitness.compute_modularity_explicitness, codes[:, varies], **sizes
    )
    assert np.array_equal(np.concatenate(drawn), np.concatenate([train, test]))
    assert not varies.all() or both["modularity_score"] == out["modularity/score"]
    fit, mean, std = lib.utils.normalize_data(x[varies])
    held, _, _ = lib.utils.normalize_data(x_test[varies], mean, std)
    auc = np.array(
        [
            lib.modularity_explicitness.explicitness_per_factor(fit, w, held, w_test)
            for w, w_test in zip(y, y_test, strict=True)
        ]
    )
    out |= {
        "explicitness/score": both["explicitness_score_test"],
        "explicitness/train": both["explicitness_score_train"],
        "explicitness/per_factor": auc[:, 1],
    }
    for kind, continuous in (("sap", False), ("sap_continuous", True)):
        scores = lib.sap_score.compute_score_matrix(x, y, x_test, y_test, continuous)
        out[f"{kind}/matrix"] = scores
        out[f"{kind}/score"] = lib.sap_score.compute_avg_diff_top_two(scores)
    assert out["sap/score"] == sap["SAP_score"]

    for quantile, bins in ((0.99, 20), (1.0, 20), (0.99, 3)):
        gin.bind_parameter("discretizer.num_bins", bins)
        irs, drawn = run(
            lib.irs.compute_irs, codes, num_train=N_TRAIN, batch_size=BATCH, diff_quantile=quantile
        )
        assert np.array_equal(np.concatenate(drawn), train)
        parts = lib.irs.scalable_disentanglement_score(
            lib.utils.make_discretizer(y).T, lib.irs._drop_constant_dims(x).T, quantile
        )
        key = f"irs_{quantile}_{bins}"
        out |= {
            f"{key}/score": irs["IRS"],
            f"{key}/matrix": parts["IRS_matrix"],
            f"{key}/per_latent": parts["disentanglement_scores"],
            f"{key}/max_deviations": parts["max_deviations"],
        }
    gin.bind_parameter("discretizer.num_bins", 20)
    return out


def dci(lib, codes):
    """DCI and the importances behind it; ties between latents are broken by the global seed."""
    found = []
    with recorded(lib.dci, "compute_importance_gbt", found):
        scores, drawn = run(lib.dci.compute_dci, codes, num_train=DCI_TRAIN, num_test=DCI_TEST)
    train, test = split_draws(drawn, DCI_TRAIN)
    importances = found[0][0]
    return {
        "dci/train": train,
        "dci/test": test,
        "dci/matrix": importances,
        "dci/per_latent": lib.dci.disentanglement_per_code(importances),
        "dci/per_factor": lib.dci.completeness_per_factor(importances),
    } | {f"dci/{name}": score for name, score in scores.items()}


def factor_vae(lib, codes):
    """FactorVAE's votes: the rows of each vote, its factor and the latent voted for."""
    samples, variances = [], []
    with (
        recorded(lib.factor_vae, "_generate_training_sample", samples),
        recorded(lib.factor_vae, "_compute_variances", variances),
    ):
        scores, drawn = run(
            lib.factor_vae.compute_factor_vae,
            codes,
            batch_size=BATCH,
            num_train=300,
            num_eval=200,
            num_variance_estimate=1000,
        )
    factor, vote = np.array(samples).T
    active = np.flatnonzero(lib.factor_vae._prune_dims(variances[0]))
    return {
        "factor_vae/variance_rows": drawn[0],
        "factor_vae/rows": np.stack(drawn[1:]),
        "factor_vae/factor": factor,
        "factor_vae/vote": active[vote],  # the library counts active latents only
        "factor_vae/variances": variances[0],
        "factor_vae/train_accuracy": scores["train_accuracy"],
        "factor_vae/eval_accuracy": scores["eval_accuracy"],
    }


def beta_vae(lib, codes):
    """The beta-VAE score: the pairs of each group, its factor and mean absolute difference."""
    samples = []
    with recorded(lib.beta_vae, "_generate_training_sample", samples):
        scores, drawn = run(
            lib.beta_vae.compute_beta_vae_sklearn,
            codes,
            batch_size=BATCH,
            num_train=400,
            num_eval=200,
        )
    return {
        "beta_vae/pairs": np.stack([np.stack(drawn[::2]), np.stack(drawn[1::2])], axis=2),
        "beta_vae/factor": np.array([label for label, _ in samples]),
        "beta_vae/features": np.stack([feature for _, feature in samples])[:50],
        "beta_vae/train_accuracy": scores["train_accuracy"],
        "beta_vae/eval_accuracy": scores["eval_accuracy"],
    }


def udr(lib, codes):
    """UDR of all tables as if they were models of one data set."""
    grid = Grid()
    models = [
        lambda rows, name=name, kl=kl: (codes[name][rows], np.array(kl)) for name, kl in KL.items()
    ]
    out = {}
    for variant in ("lasso", "spearman"):
        grid.drawn = []
        scores = lib.udr.compute_udr_sklearn(
            grid, models, np.random.RandomState(SEED), 10, 1000, correlation_matrix=variant
        )
        out |= {
            f"udr/{variant}/per_model": scores["model_scores"],
            f"udr/{variant}/matrix": np.array(scores["pairwise_disentanglement_scores"])[..., 0],
            f"udr/{variant}/correlations": scores["raw_correlations"],
            "udr/rows": np.concatenate(grid.drawn),
        }
    return out | {"udr/kl": list(KL.values())}


def main(udr_file):
    gin, lib = load_library(udr_file)
    gin.parse_config(
        "import disentanglement_lib.evaluation.metrics.utils\n"
        "discretizer.discretizer_fn = @histogram_discretizer\n"
        "discretizer.num_bins = 20\n"
        f"prune_dims.threshold = {THRESHOLD}\n"
    )
    factors = np.stack(np.unravel_index(np.arange(np.prod(SIZES)), SIZES), axis=1)
    codes = tables(factors)
    out = {"factors": factors} | udr(lib, codes)
    shared = ("train", "test", "rows", "factor", "variance_rows", "pairs", "entropies")
    for name, table in codes.items():
        out[f"codes/{name}"] = table.astype(np.float32)
        answers = matrices(lib, gin, table, factors)
        answers |= dci(lib, table) | factor_vae(lib, table) | beta_vae(lib, table)
        for key, value in answers.items():
            if key.split("/")[-1] in shared and not key.startswith("explicitness"):
                # Draws depend on the seed alone, so one copy serves every table.
                assert np.array_equal(out.setdefault(key, value), value), key
            else:
                out[f"{name}/{key}"] = value
    for key, value in out.items():
        array = np.asarray(value)
        if array.dtype == np.int64:
            assert array.min() >= 0
            array = array.astype(np.min_scalar_type(array.max()))
        out[key] = array
    target = Path(__file__).with_name("disentanglement_lib.npz")
    np.savez_compressed(target, **out)
    print(f"{target.name}: {len(out)} arrays, {target.stat().st_size / 1000:.0f} kB")


def own_tests():
    load_library()
    names = [f"disentanglement_lib.evaluation.metrics.{name}_test" for name in METRICS]
    unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromNames(names))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    own_tests() if sys.argv[1] == "--own-tests" else main(sys.argv[1])
