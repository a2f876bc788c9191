"""NonlinearPCA keeps scikit-learn's contract: all of its own checks, and what they leave out."""

import pickle
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from unpick import NonlinearPCA

QUICK = {"network": (4,), "restarts": 1, "max_steps": 4, "random_state": 0, "device": "cpu"}


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@parametrize_with_checks([NonlinearPCA(**QUICK)])
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(60, 5))


@pytest.fixture(scope="module")
def fitted(x):
    return NonlinearPCA(2, **QUICK).fit(x)


def same(one, other, x):
    np.testing.assert_array_equal(one.transform(x), other.transform(x))
    np.testing.assert_array_equal(
        one.inverse_transform(x[:, :2]), other.inverse_transform(x[:, :2])
    )
    np.testing.assert_array_equal(one.local_components(x), other.local_components(x))
    assert one.score(x) == other.score(x)
    assert one.warnings_ == other.warnings_
    for name, column in one.restarts_.items():
        np.testing.assert_array_equal(column, other.restarts_[name])


def test_saves_and_loads_without_pickle(fitted, x, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    again = NonlinearPCA.load(tmp_path / "model.safetensors")
    same(fitted, again, x)
    assert again.get_params() == fitted.get_params()
    same(pickle.loads(pickle.dumps(fitted)), fitted, x)


def test_names_of_features_are_saved(x, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(x, columns=list("abcde"))
    model = NonlinearPCA(2, **QUICK).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["nonlinearpca0", "nonlinearpca1"]
    model.save(tmp_path / "model.safetensors")
    again = NonlinearPCA.load(tmp_path / "model.safetensors")
    assert list(again.transform(frame).columns) == ["nonlinearpca0", "nonlinearpca1"]
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame[["b", "a", "c", "d", "e"]])


def test_polars_comes_out(fitted, x):
    pl = pytest.importorskip("polars")
    assert isinstance(clone(fitted).set_output(transform="polars").fit_transform(x), pl.DataFrame)


def test_refuses_a_file_of_another_kind(tmp_path):
    for name, content in (("a", b"no tensors"), ("b", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="is not a saved NonlinearPCA"):
            NonlinearPCA.load(tmp_path / name)


def small_networks(shape, latents, outputs):
    (columns,) = shape
    return torch.nn.Linear(columns, outputs), torch.nn.Linear(latents, columns)


def test_modules_of_the_users_own(x, tmp_path):
    model = NonlinearPCA(2, **QUICK | {"network": small_networks}).fit(x)
    assert model.transform(x).shape == (60, 2)
    model.save(tmp_path / "own")
    with pytest.raises(ValueError, match="small_networks"):
        NonlinearPCA.load(tmp_path / "own")
    same(NonlinearPCA.load(tmp_path / "own", small_networks), model, x)


def test_works_in_a_pipeline_and_a_grid_search(x):
    chain = make_pipeline(StandardScaler(), NonlinearPCA(1, **QUICK))
    grid = {"nonlinearpca__beta": [0.1, 1.0]}
    found = GridSearchCV(chain, grid, cv=2).fit(x)
    assert found.best_params_["nonlinearpca__beta"] in (0.1, 1.0)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


@pytest.mark.usefixtures("unchecked")  # types would be refused before values are
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "n_components must be None, a share"),
        ({"n_components": 6}, "in 1..5"),
        ({"n_components": 1.5}, "got 1.5"),
        ({"n_components": True}, "got True"),
        ({"beta": 0}, "beta must be 'auto' or positive"),
        ({"beta": "some"}, "got 'some'"),
        ({"network": (8, 0)}, "network must be a tuple of positive widths"),
        ({"network": "wide"}, "got 'wide'"),
        ({"network": torch.nn.Linear(5, 5)}, "network must be a function whose source"),
        ({"network": partial(small_networks, (5,))}, "no functools.partial"),
        ({"restarts": 0}, "restarts must be a whole number"),
        ({"max_steps": 2.5}, "max_steps must be a whole number"),
        ({"tol": -1}, "tol must not be negative"),
        ({"device": "abacus"}, "device must be"),
    ],
)
def test_bad_parameters_say_what_is_allowed(x, change, message):
    with pytest.raises(ValueError, match=message):
        NonlinearPCA(**QUICK | change).fit(x)


def test_components_of_another_width_are_refused(fitted, x):
    with pytest.raises(ValueError, match="X must have 2 columns, got 5"):
        fitted.inverse_transform(x)
