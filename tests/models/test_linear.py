import pytest
import torch

from unpick.data import load
from unpick.models import linear_vae, pca, ppca, ppca_em
from unpick.models.linear import linear_vaes


@pytest.fixture(scope="module")
def x():
    data = load("linear-gaussian", points=20_000)
    return data.observe(torch.arange(len(data)))


def test_pca_equals_scikit_learns(x):
    from sklearn.decomposition import PCA

    theirs = PCA(3).fit(x.double().numpy())
    mine = pca(x, 3)
    overlap = mine.weights.T @ torch.from_numpy(theirs.components_).T
    torch.testing.assert_close(overlap.abs(), torch.eye(3).double(), atol=1e-6, rtol=0)
    codes = torch.from_numpy(theirs.transform(x.double().numpy())) * overlap.diagonal().sign()
    torch.testing.assert_close(mine.encode(x), codes, atol=1e-5, rtol=0)


def test_ppca_recovers_what_was_planted(x):
    model = ppca(x, 3)
    torch.testing.assert_close(
        model.weights.norm(dim=0), torch.tensor([3.0, 2.0, 1.0]).double(), rtol=0.02, atol=0
    )
    assert model.noise_variance == pytest.approx(0.01, rel=0.02)


def test_em_reaches_the_likelihood_of_the_closed_form_from_elsewhere(x):
    direct, em = ppca(x, 3), ppca_em(x, 3)
    assert em.log_likelihood(x) == pytest.approx(direct.log_likelihood(x), abs=1e-6)
    gram = em.weights.T @ em.weights
    assert (gram - torch.diag(gram.diagonal())).abs().max() > 0.1  # EM leaves the rotation open


def test_likelihood_is_at_a_maximum(x):
    from dataclasses import replace

    model = ppca(x, 3)
    best = model.log_likelihood(x)
    for change in (0.99, 1.01):
        assert replace(model, weights=model.weights * change).log_likelihood(x) < best
        assert (
            replace(model, noise_variance=model.noise_variance * change).log_likelihood(x) < best
        )


def test_linear_vae_is_ppca_with_diagonal_posterior_and_prunes(x):
    noise = ppca(x, 3).noise_variance
    same = linear_vae(x, 3, noise)
    torch.testing.assert_close(same.weights, ppca(x, 3).weights)
    cov = same.posterior_covariance
    torch.testing.assert_close(cov, torch.diag(cov.diagonal()), atol=1e-12, rtol=0)
    pruned = linear_vae(x, 3, noise_variance=2.0)  # between the variances 1 and 4
    assert (pruned.weights.norm(dim=0) > 0).tolist() == [True, True, False]
    assert pruned.posterior_covariance[2, 2] == pytest.approx(1.0)


def test_data_without_noise_are_refused():
    flat = torch.randn(4, 10, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="at most 6 directions"):
        ppca(flat, 6)


def test_bad_sizes_are_refused(x):
    with pytest.raises(ValueError, match=r"1\.\.10, got 11"):
        pca(x, 11)
    with pytest.raises(ValueError, match="below the 10 columns"):
        ppca(x, 10)
    with pytest.raises(ValueError, match="positive"):
        linear_vae(x, 3, 0.0)


def test_more_columns_than_rows_give_the_same_by_another_decomposition():
    wide = load("linear-gaussian", points=30).observe(torch.arange(30))[:8]
    assert wide.shape[0] < wide.shape[1]
    values, vectors = torch.linalg.eigh(torch.cov(wide.double().T, correction=0))
    for latents in (3, wide.shape[1]):
        found = linear_vae(wide, latents, noise_variance=0.01)
        lengths = (values.flip(0)[:latents] - 0.01).clamp(min=0).sqrt()
        expected = vectors.flip(1)[:, :latents] * lengths
        torch.testing.assert_close(found.weights @ found.weights.T, expected @ expected.T)
        torch.testing.assert_close(found.weights.norm(dim=0), lengths)


def test_one_decomposition_serves_many_linear_vaes(x, monkeypatch):
    expected = [linear_vae(x, d, noise) for d, noise in ((1, 0.5), (3, 0.01))]
    calls = []
    decompose = torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda c: calls.append(c) or decompose(c))
    found = linear_vaes(x, [1, 3], [0.5, 0.01])
    assert len(calls) == 1
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.weights, other.weights)


def test_a_wide_table_is_never_decomposed_by_its_columns(monkeypatch):
    monkeypatch.delattr(torch.linalg, "eigh")
    assert pca(torch.randn(4, 50), 3).weights.shape == (50, 3)
