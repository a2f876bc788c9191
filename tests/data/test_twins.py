"""Twins: the change stays within epsilon, everything else stays what it was."""

import json
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unpick.data import (
    DATASETS,
    ArrayStore,
    DataDamaged,
    DataMissing,
    Dataset,
    Noisy,
    Perturbed,
    load,
)
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.data.twins import (
    ChangedStore,
    describe,
    document_digest,
    reflect,
    save_twin,
    select_twin,
)
from unpick.training import RunConfig, preset
from unpick.training.config import from_json, to_json

SMALL = Shapes3D(8)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def cache(rendered, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(rendered))


@pytest.fixture
def written(cache):
    """A twin with a planted family: level k adds k / 100 - 0.04 everywhere."""
    config = Perturbed(SMALL, "abc")
    table = (torch.arange(9) / 100 - 0.04)[:, None, None, None].expand(9, 3, 8, 8)
    save_twin(config, 0.05, table, torch.arange(480_000) % 9)
    return config


def test_reflection_is_the_formula_of_the_thesis():
    x = torch.linspace(-1, 2, 1001)
    printed = x - 2 * torch.relu(x - 1) + 2 * torch.relu(-x)
    torch.testing.assert_close(reflect(x), printed)
    inside = torch.rand(1000)
    assert torch.equal(reflect(inside), inside)


@given(st.integers(0, 2**32), st.floats(1e-3, 1.0), st.booleans())
def test_no_pixel_moves_by_more_than_the_change(seed, epsilon, binary):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(7, 1, 3, 3, generator=generator)
    x = x.round() if binary else x
    rows = epsilon * (2 * torch.rand(4, 9, generator=generator) - 1)
    store = ChangedStore(ArrayStore(x), rows, torch.randint(4, (7,), generator=generator))
    indices = torch.randint(7, (20,), generator=generator)
    y = store.read(indices)
    assert 0 <= y.min() <= y.max() <= 1
    assert (y - x[indices]).abs().max() <= epsilon + 1e-6


def test_the_store_of_the_original_is_left_alone(generator):
    x = torch.rand(5, 4, generator=generator)
    kept = x.clone()
    ChangedStore(ArrayStore(x), torch.ones(1, 4), torch.zeros(5).long()).read(torch.arange(5))
    assert torch.equal(x, kept)


def test_noise_is_uniform_fixed_and_of_every_image_its_own(monkeypatch):
    grey = Dataset("grey", ArrayStore(torch.full((300, 1, 8, 8), 0.5)))
    monkeypatch.setattr(Shapes3D, "load", lambda self: grey)
    epsilon = 0.2
    noisy = Noisy(SMALL, epsilon)
    change = noisy.load().observe(torch.arange(300)) - 0.5
    # Nothing is reflected about one half, so this is the noise itself: 19200 numbers.
    assert change.abs().max() <= epsilon + 1e-6
    assert abs(change.mean()) < 4 * epsilon / 3**0.5 / 19_200**0.5
    assert change.square().mean() == pytest.approx(epsilon**2 / 3, rel=0.03)
    correlation = torch.corrcoef(change.flatten(1)).fill_diagonal_(0)
    assert correlation.abs().max() < 6 / 64**0.5
    again = noisy.load().observe(torch.tensor([7, 3, 7]))
    assert torch.equal(again - 0.5, change[[7, 3, 7]])
    assert not torch.equal(replace(noisy, seed=1).load().observe(torch.tensor([7])), again[:1])


def test_a_perturbed_twin_is_the_original_plus_its_table(written):
    original, changed = SMALL.load(), written.load()
    some = torch.arange(0, 480_000, 9973)
    change = (some % 9 / 100 - 0.04)[:, None, None, None]
    expected = reflect(original.observe(some) + change)
    torch.testing.assert_close(changed.observe(some), expected)
    assert changed.name == "shapes3d-perturbed"
    assert (changed.factors, changed.is_grid) == (original.factors, True)
    assert torch.equal(changed.factor_values(some), original.factor_values(some))


def test_a_twin_is_loaded_by_its_folder(written, tmp_path):
    by_name = load("shapes3d", size=8, perturbed=written.folder)
    some = torch.arange(0, 480_000, 99_991)
    assert torch.equal(by_name.observe(some), written.load().observe(some))
    assert select_twin(SMALL, written.folder) == written  # its usual folder is no path of its own
    moved = written.folder.rename(tmp_path / "moved")
    assert select_twin(SMALL, moved) == replace(written, path=str(moved))
    assert load("shapes3d", size=8, noisy=0.1).name == "shapes3d-noisy"
    assert load("bent", noise=0.0, points=100).name == "bent"  # its own option of that kind


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "twin.json").unlink(), "holds no twin.json; make a twin"),
        (lambda folder: (folder / "change.safetensors").unlink(), "holds no change"),
        (
            lambda folder: (folder / "twin.json").write_text("{"),
            "truncated or no file of its kind",
        ),
        (lambda folder: edit(folder, sha256="0"), "its sha256 is"),
        (lambda folder: edit(folder, epsilon=0.039), "the change is not within 0.039"),
        (lambda folder: edit(folder, epsilon="0.1"), "epsilon is no number but '0.1'"),
        (lambda folder: edit(folder, epsilon=1e999), r"epsilon must lie in \(0, 1\], got inf"),
        (lambda folder: edit(folder, identity="abd"), "made in another way: abd, not abc"),
        (lambda folder: edit(folder, original={"name": "sprites"}), "a twin of another data set"),
    ],
)
def test_damage_is_named(written, damage, message):
    damage(written.folder)
    with pytest.raises((DataMissing, DataDamaged), match=message):
        written.load()


def edit(folder, **fields):
    file = folder / "twin.json"
    document = json.loads(file.read_text()) | fields
    document["digest"] = document_digest(document)  # what a forger would do
    file.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("shape", "levels", "message"),
    [
        ((9, 3, 8, 4), 480_000, "the shape of a change"),
        ((9, 3, 8, 8), 479_999, "the shape of the levels"),
        ((8, 3, 8, 8), 480_000, "a level lies outside 0..7"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(cache, shape, levels, message):
    config = Perturbed(SMALL, "abc")
    save_twin(config, 0.05, torch.zeros(shape), torch.arange(levels) % 9)
    with pytest.raises(DataDamaged, match=message):
        config.load()


def test_mistakes_are_told(written):
    with pytest.raises(DataDamaged, match=r"'size': 8.*not of.*'size': 16"):
        load("shapes3d", size=16, perturbed=written.folder)
    with pytest.raises(ValueError, match="perturbed and noisy exclude each other"):
        load("shapes3d", size=8, perturbed=written.folder, noisy=0.1)
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 1\], got -0.1"):
        load("shapes3d", noisy=-0.1)
    with pytest.raises(ValueError, match=r"twins are of data in \[0, 1\], and synth-lin leaves"):
        load("synth-lin", noisy=0.1)


@pytest.mark.parametrize(
    "data", [Noisy(Sprites(32), 0.1, 3), Perturbed(Sprites(32), "abc", "somewhere")]
)
def test_runs_on_twins_survive_json(data):
    config = replace(preset("sprites"), data=data)
    assert from_json(json.loads(json.dumps(to_json(config))), RunConfig) == config
    assert config.label() == f"{data.name}-beta-vae"


def test_identities():
    base = preset("mnist")
    here, there = (
        replace(base, data=Perturbed(DATASETS["mnist"](place), "abc", place)) for place in "ab"
    )
    other = replace(base, data=Perturbed(DATASETS["mnist"](), "abd"))
    noisy = [replace(base, data=Noisy(base.data, epsilon)) for epsilon in (0.1, 0.2)]
    assert here.identity() == there.identity()
    assert len({c.identity() for c in (base, here, other, *noisy)}) == 5
    # What is on disk from before there were twins keeps its name.
    before = {"synth-lin": "1c905733e7d7", "mnist": "6851e06803c4", "shapes3d": "e87da3511bbe"}
    assert {name: preset(name).identity() for name in before} == before
    assert describe(DATASETS["mnist"]("here")) == {"name": "mnist"}
