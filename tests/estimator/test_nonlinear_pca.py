"""What NonlinearPCA finds: PPCA for a linear network, planted surfaces, and odd tables."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from unpick import NonlinearPCA
from unpick.data import load
from unpick.estimator.linear import linear_path
from unpick.estimator.reading import signs_of
from unpick.estimator.rows import hold_out
from unpick.models import ppca

pytestmark = pytest.mark.slow

QUICK = {"network": (4,), "restarts": 2, "max_steps": 20, "random_state": 0, "device": "cpu"}


def table(name, points, **options):
    data = load(name, points=points, **options)
    rows = torch.arange(points)
    return data.observe(rows).double().numpy(), data.factor_values(rows).numpy()


@pytest.mark.parametrize("noise", [1e-3, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.2])
def test_a_linear_network_is_ppca(noise):
    values = (3.0, 2.0, 1.5)
    x, _ = table("linear-gaussian", 4000, singular_values=values, noise=noise)
    model = NonlinearPCA(network=(), random_state=0).fit(x)
    pca = PCA(3).fit(x)
    assert model.n_components_ == 3
    np.testing.assert_allclose(np.abs((model.components_ * pca.components_).sum(1)), 1, atol=1e-4)
    assert model.noise_variance_ == pytest.approx(noise**2, rel=0.05)
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=0.05)
    # A posterior mean explains less than a projection does.
    explained = pca.explained_variance_ - pca.noise_variance_**2 / pca.explained_variance_
    np.testing.assert_allclose(model.explained_variance_, explained, rtol=0.1)
    assert model.score(x) == pytest.approx(pca.score(x), abs=0.05)
    assert model.orthogonality_ < 1e-3
    assert model.warnings_ == []
    searched = model.restarts_["stage"] == "search"
    assert model.restarts_["active"][searched].tolist() == [*range(1, 11)]
    assert model.restarts_["ELBO"][searched][:9].argmax() >= 2


@pytest.mark.parametrize("variance", [3.0, 5.0, 20.0])
def test_one_loud_column_is_one_linear_component(variance, rng):
    x = rng.normal(size=(1000, 10)) * np.sqrt([variance] + [1.0] * 9)
    model = NonlinearPCA(network=(), random_state=0).fit(x)
    assert model.n_components_ == 1
    assert model.noise_variance_ == pytest.approx(1.0, rel=0.05)


def test_noise_alone_is_called_noise(rng):
    model = NonlinearPCA(network=(), random_state=0).fit(rng.normal(size=(500, 10)))
    assert model.n_components_ == 1
    assert model.noise_variance_ == pytest.approx(1.0, rel=0.05)
    assert [text for text in model.warnings_ if "pure noise" in text]


def test_a_ring_is_no_noise(rng):
    """Its covariance is that of noise, alike in both directions."""
    turn = 2 * np.pi * rng.random(300)
    x = np.stack([np.cos(turn), np.sin(turn)], 1) + 0.05 * rng.normal(size=(300, 2))
    model = NonlinearPCA(2, **QUICK | {"network": (16,), "max_steps": 400}).fit(x)
    assert not [text for text in model.warnings_ if "pure noise" in text]


def test_evidence_of_every_linear_model_is_its_density():
    x, _ = table("linear-gaussian", 300, noise=0.5)
    parts = hold_out(x, 0)
    path = linear_path(parts)
    rows = parts.dataset.observe(parts.training_rows)
    for k in (1, 3, 8):
        model = ppca(rows, k)
        assert path.noise[k] == pytest.approx(model.noise_variance)
        assert path.evidence[:, k].mean() == pytest.approx(model.log_likelihood(parts.held))
    whole = torch.distributions.MultivariateNormal(
        rows.double().mean(0), torch.cov(rows.double().T, correction=0)
    )
    full = whole.log_prob(parts.held.double()).numpy()
    np.testing.assert_allclose(path.evidence[:, 10], full, rtol=1e-4)
    np.testing.assert_allclose(path.evidence[:, 9], full, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_a_bent_sheet_has_two_components_and_its_noise():
    x, factors = table("bent", 1500)
    model = NonlinearPCA(
        network=(32, 32), restarts=2, max_steps=1500, random_state=0, device="cpu"
    ).fit(x)
    assert model.n_components_ == 2
    assert model.noise_variance_ == pytest.approx(0.04**2, rel=0.25)
    z = model.transform(x)
    found = [abs(spearmanr(z[:, k], factors[:, k]).statistic) for k in (0, 1)]
    assert min(found) > 0.97  # along the bend first: it is longer
    assert (
        model.explained_variance_ratio_.sum()
        > 0.98
        > PCA(2).fit(x).explained_variance_ratio_.sum()
    )
    assert model.orthogonality_ < 0.5
    # The first direction follows the bend: it turns by more than a right angle from end to end.
    ends = model.local_components(x[[factors[:, 0].argmin(), factors[:, 0].argmax()]])[:, 0]
    cosine = ends[0] @ ends[1] / np.linalg.norm(ends, axis=1).prod()
    assert cosine < 0.3


def test_explained_shares_add_up(rng):
    x = rng.normal(size=(200, 4)) * [3, 2, 1, 0.1]
    model = NonlinearPCA(3, **QUICK).fit(x)
    missed = np.square(x - model.inverse_transform(model.transform(x))).sum()
    total = np.square(x - x.mean(0)).sum()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1 - missed / total, abs=1e-6)
    assert model.explained_variance_.sum() / x.var(0, ddof=1).sum() == pytest.approx(
        model.explained_variance_ratio_.sum()
    )
    np.testing.assert_allclose(model.transform(x).mean(0), 0, atol=1e-9)


def test_signs_do_not_flip_between_fits_and_order_is_by_variance():
    x, _ = table("linear-gaussian", 400, singular_values=(1.0, 3.0, 2.0), noise=0.2)
    options = QUICK | {"network": (16,), "max_steps": 2000}
    codes = [NonlinearPCA(3, **options | {"random_state": s}).fit(x).transform(x) for s in (1, 2)]
    for a, b in zip(codes[0].T, codes[1].T, strict=True):
        assert np.corrcoef(a, b)[0, 1] > 0.7
    model = NonlinearPCA(3, network=(), random_state=1).fit(x)
    assert (np.diff(model.explained_variance_) < 0).all()


def test_signs_do_not_depend_on_the_fit_where_columns_balance(rng):
    """Two standardised columns of opposite sign: cubes of covariances would cancel."""
    common = rng.normal(size=500)
    x = np.stack([common, -common], 1) + 0.3 * rng.normal(size=(500, 2))
    x = (x - x.mean(0)) / x.std(0)
    direction = np.array([1.0, -1.0]) / np.sqrt(2)
    for angle in np.linspace(-0.3, 0.3, 13):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        codes = x @ turn @ direction
        assert signs_of(codes[:, None], x) == 1
        assert signs_of(-codes[:, None], x) == -1


def test_a_share_of_the_variance_keeps_enough_components():
    x, _ = table("linear-gaussian", 500, singular_values=(3.0, 2.0, 1.0), noise=0.1)
    for share, count in ((0.5, 1), (0.9, 2), (0.98, 3)):
        model = NonlinearPCA(share, network=(), random_state=0).fit(x)
        assert model.n_components_ == count
        assert model.explained_variance_ratio_.sum() >= share
        same = NonlinearPCA(count, network=(), random_state=0).fit(x)
        assert model.score(x) == same.score(x)
        assert model.noise_variance_ == same.noise_variance_
    options = QUICK | {"max_steps": 600}
    bent = NonlinearPCA(0.6, **options).fit(x)
    assert bent.n_components_ < 4
    same = NonlinearPCA(bent.n_components_, **options).fit(x)
    assert bent.score(x) == same.score(x)
    assert bent.noise_variance_ == same.noise_variance_


def test_a_share_may_need_more_components_than_are_found_otherwise():
    x = StandardScaler().fit_transform(load_digits().data)
    assert NonlinearPCA(0.9, network=(), random_state=0).fit(x).n_components_ in range(30, 36)
    assert PCA(0.9).fit(x).n_components_ == 31


def test_a_share_that_is_not_reached_is_said(rng):
    x = rng.normal(size=(400, 6)) * [5, 1, 1, 1, 1, 1]
    model = NonlinearPCA(0.999, **QUICK).fit(x)
    assert model.explained_variance_ratio_.sum() < 0.999
    assert [text for text in model.warnings_ if "99.9% were wanted" in text]


def test_auto_keeps_the_linear_network_where_it_is_as_good():
    x, _ = table("linear-gaussian", 300, noise=0.5)
    model = NonlinearPCA(network="auto", restarts=1, max_steps=40, random_state=0).fit(x)
    assert model.noise_variance_ == pytest.approx(
        PCA(model.n_components_).fit(x).noise_variance_, rel=0.1
    )


def test_beta_has_the_units_of_the_table():
    x, _ = table("linear-gaussian", 2000)
    for size in (1.0, 1000.0):
        model = NonlinearPCA(3, beta=0.02 * size**2, network=(), restarts=1, random_state=0)
        model.fit(size * x)
        assert model.beta_ == pytest.approx(0.02 * size**2)
        assert model.noise_variance_ == pytest.approx(0.01 * size**2, rel=0.1)


def test_equal_variances_are_called_interchangeable():
    x, _ = table("linear-gaussian", 3000, singular_values=(3.0, 1.0, 1.0))
    model = NonlinearPCA(3, network=(), restarts=1, random_state=0).fit(x)
    assert [text for text in model.warnings_ if "Components 1 and 2 are equally strong" in text]
    assert not [text for text in model.warnings_ if "Components 0" in text]


def test_warnings_speak_in_nats_of_the_table(rng):
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    for size in (1.0, 1000.0):
        model = NonlinearPCA(2, **QUICK).fit(size * x)
        (said,) = [text for text in model.warnings_ if "Linear PCA is as good" in text]
        kept = model.restarts_["ELBO"][model.restarts_["stage"] == "restarts"]
        assert float(said.split()[-3]) in kept.round(2)


def test_what_is_wrong_is_said_in_words(rng):
    model = NonlinearPCA(2, **QUICK).fit(rng.normal(size=(30, 3)))
    said = " ".join(model.warnings_)
    assert "after 20 steps" in said
    assert "Only 30 rows" in said
    assert "Linear PCA is as good" in said


def test_progress_and_warnings_are_shown_if_wanted(rng, capsys, monkeypatch):
    monkeypatch.setattr("unpick.training.progress.EVERY", 0.0)
    x = rng.normal(size=(30, 3))
    NonlinearPCA(2, **QUICK).fit(x)
    assert capsys.readouterr() == ("", "")
    model = NonlinearPCA(2, **QUICK, verbose=1).fit(x)
    out, err = capsys.readouterr()
    assert out.count("warning: ") == len(model.warnings_) > 0
    assert "8 betas" in err
    assert "2 restarts" in err
    assert "synth-lin" not in err


def test_any_number_of_rows_can_be_fitted(rng):
    for rows in range(2, 41):
        model = NonlinearPCA(1, network=(), random_state=0).fit(rng.normal(size=(rows, 3)))
        assert np.isfinite(model.explained_variance_ratio_).all()


TABLES = {
    "5 rows": lambda r: r.normal(size=(5, 3)),
    "one feature": lambda r: r.normal(size=(40, 1)),
    "constant columns": lambda r: np.c_[r.normal(size=(40, 2)), np.full((40, 2), 7.1)],
    "collinear columns": lambda r: r.normal(size=(40, 1)) * [1.0, -2.0, 3.0],
    "integers": lambda r: r.integers(9, size=(40, 3)),
    "huge": lambda r: r.normal(size=(40, 3)) * 1e150,
    "tiny": lambda r: r.normal(size=(40, 3)) * 1e-150,
    "far away": lambda r: r.normal(size=(40, 3)) + 1e9,
    "wide": lambda r: r.normal(size=(12, 60)),
    "equal rows but one": lambda r: np.eye(12)[:, :3],
}


@pytest.mark.parametrize("name", TABLES)
def test_odd_tables_give_a_sensible_result(name, rng):
    x = TABLES[name](rng)
    for network in ((), (4,)):
        model = NonlinearPCA(**QUICK | {"network": network, "restarts": 1}).fit(x)
        z = model.transform(x)
        back = model.inverse_transform(z)
        assert np.isfinite(z).all()
        assert np.isfinite(back).all()
        scale = np.abs(x - x.mean(0)).max()
        assert np.abs(back - x).max() < 10 * scale
        assert 1 <= model.n_components_ <= x.shape[1]
        assert 0 < model.noise_variance_ < np.inf
    if name == "constant columns":
        np.testing.assert_allclose(
            NonlinearPCA(1, **QUICK | {"network": ()}).fit(x).components_[0, 2:], 0
        )


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.full((20, 2), 3.0), ValueError, "X must vary"),
        (1e200 * np.eye(20), ValueError, "variance that double precision can hold"),
        (1e-200 * np.eye(20), ValueError, "variance that double precision can hold"),
        (np.array([[1.0, np.nan]] * 20), ValueError, "NaN"),
        (np.array([[1.0, np.inf]] * 20), ValueError, "infinity"),
        (csr_array(np.eye(20)), TypeError, "dense"),
        (np.eye(20)[0], ValueError, "2D array"),
    ],
)
def test_tables_that_cannot_be_fitted_are_refused(x, error, message):
    with pytest.raises(error, match=message):
        NonlinearPCA(**QUICK).fit(x)


def test_memory_mapped_rows_are_read_as_they_are_needed(tmp_path, rng):
    x = rng.normal(size=(300, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = NonlinearPCA(2, **QUICK).fit(mapped).transform(mapped)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, NonlinearPCA(2, **QUICK).fit(x).transform(x))
