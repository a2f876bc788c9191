"""DCI with other learners, against scikit-learn's exact one, on the codes of trained models.

    unpick train sprites --size 32 --beta 4 --encoder 256 256 --decoder 256 256 --steps 3000
    python benchmarks/dci_learners.py runs/*

The reference is `GradientBoostingClassifier` with its defaults (100 trees a class, depth 3, rate
0.1), which is what disentanglement_lib uses. LightGBM and XGBoost get the same settings and no
regularisation of their own; they are left out if they are not installed. The importance of a
latent is the decrease of the loss by the splits on it ("gain"). All learners see the same rows.
Times are processor seconds of one thread.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import GradientBoostingClassifier
from threadpoolctl import threadpool_limits

from unpick.data import split
from unpick.metrics.boosting import boost, sort_codes
from unpick.metrics.importance import dci_from_importances
from unpick.runs import read

FIT, TEST = 2_500, 1_250
TREES, DEPTH, RATE = 100, 3, 0.1
PARTS = ("disentanglement", "completeness", "informativeness")


def exact(codes, labels, new, seed=0):
    model = GradientBoostingClassifier(random_state=seed).fit(codes, labels)
    return model.feature_importances_, model.predict(new)


def other_seed(codes, labels, new):
    return exact(codes, labels, new, seed=1)


def ours(codes, labels, new):
    fitted = boost(sort_codes(codes, new), labels, rounds=TREES)
    return fitted.importances, fitted.predicted


def lightgbm(codes, labels, new):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=TREES,
        max_depth=DEPTH,
        num_leaves=2**DEPTH,
        learning_rate=RATE,
        min_child_samples=1,
        importance_type="gain",
        n_jobs=1,
        verbose=-1,
    ).fit(codes, labels)
    return model.feature_importances_, model.predict(new)


def xgboost(codes, labels, new, method="hist"):
    from xgboost import XGBClassifier

    model = XGBClassifier(
        n_estimators=TREES,
        max_depth=DEPTH,
        learning_rate=RATE,
        min_child_weight=1e-3,  # as LightGBM has it
        reg_lambda=0,
        tree_method=method,
        importance_type="total_gain",
        n_jobs=1,
    ).fit(codes, labels)
    return model.feature_importances_, model.predict(new)


def xgboost_exact(codes, labels, new):
    return xgboost(codes, labels, new, "exact")


LEARNERS = {
    "scikit-learn": exact,
    "scikit-learn, another seed": other_seed,
    "unpick, fast": ours,
    "LightGBM": lightgbm,
    "XGBoost, hist": xgboost,
    "XGBoost, exact": xgboost_exact,
}


def codes_and_labels(folder):
    """Latent means of a run's observations, and the class of every factor that is not constant."""
    run = read(folder)
    dataset = run.config.data.load()
    rows = split(dataset).test[: FIT + TEST]
    with torch.no_grad():
        parts = [
            run.model().encode(part[None]).mean[0] for part in dataset.observe(rows).split(1000)
        ]
    values = dataset.factor_values(rows).numpy()
    labels = [np.unique(column, return_inverse=True)[1] for column in values.T]
    kept = [column for column in labels if len(np.unique(column[:FIT])) == column.max() + 1 > 1]
    return torch.cat(parts).double().numpy(), np.stack(kept, axis=1)


def scores(learner, codes, labels):
    """D, C, I, the importances and the seconds."""
    started = time.process_time()
    fits = [learner(codes[:FIT], column[:FIT], codes[FIT:]) for column in labels.T]
    seconds = time.process_time() - started
    matrix = np.stack([importances / importances.sum() for importances, _ in fits], axis=1)
    accuracy = [
        (said == column[FIT:]).mean() for (_, said), column in zip(fits, labels.T, strict=True)
    ]
    found = dci_from_importances(matrix)
    return (
        np.array([found.disentanglement, found.completeness, np.mean(accuracy)]),
        matrix,
        seconds,
    )


def installed():
    for name, learner in LEARNERS.items():
        try:
            rng = np.random.default_rng(0)
            learner(rng.random((50, 2)), np.arange(50) % 3, rng.random((5, 2)))
        except ImportError as error:
            print(f"{name} left out: {error}")
        else:
            yield name, learner


def main(folders):
    torch.set_num_threads(1)
    learners, found = dict(installed()), {}
    for folder in map(Path, folders):
        codes, labels = codes_and_labels(folder)
        for name, learner in learners.items():
            found.setdefault(name, []).append(scores(learner, codes, labels))
            values, _, seconds = found[name][-1]
            print(
                f"{folder.name}  {name:<27}", np.round(values, 4), f"{seconds:.1f} s", flush=True
            )
    table = Table(title=f"Differences from scikit-learn, {len(folders)} models: mean (largest)")
    for column in ("learner", *PARTS, "importance", "seconds a model"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    reference = found["scikit-learn"]
    for name, results in found.items():
        pairs = list(zip(results, reference, strict=True))
        apart = np.abs([mine[0] - theirs[0] for mine, theirs in pairs])
        cells = [f"{column.mean():.4f} ({column.max():.4f})" for column in apart.T]
        largest = [np.abs(mine[1] - theirs[1]).max() for mine, theirs in pairs]
        cells.append(f"{np.mean(largest):.3f} ({max(largest):.3f})")
        table.add_row(name, *cells, f"{np.mean([seconds for *_, seconds in results]):.1f}")
    Console(width=150).print(table)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
