"""What a method owes to local variance structure: planted answers, and the command."""

import numpy as np
import pytest
import torch

from unpick.cli import main
from unpick.data.shapes3d import Shapes3D
from unpick.data.twins import Perturbed, save_twin, twin_in
from unpick.metrics import mutual_information_gap
from unpick.stress import Stress, base_of, stress_model
from unpick.training import preset

ORIGINAL = Shapes3D(8)


@pytest.fixture
def folder(tmp_path):
    """A twin in which the change knows nothing: two levels, given at random."""
    generator = torch.Generator().manual_seed(0)
    table = 0.1 * (2 * torch.rand(2, *ORIGINAL.load().shape, generator=generator) - 1)
    level = torch.randint(2, (len(ORIGINAL.load()),), generator=generator)
    save_twin(Perturbed(ORIGINAL, "planted", str(tmp_path / "twin")), 0.1, table, level)
    return tmp_path / "twin"


def planted(original, noise, perturbed):
    each = {"original": original, "noise": noise, "perturbed": perturbed}
    return Stress({twin: {"MIG": np.array(values)} for twin, values in each.items()})


def test_owed_is_what_structure_takes_and_size_does_not():
    assert planted([0.4, 0.6], [0.3, 0.5], [0.1, 0.1]).owed("MIG").share == pytest.approx(0.6)
    nothing = planted([0.4, 0.6], [0.2, 0.4], [0.2, 0.4]).owed("MIG")
    assert nothing.share == 0
    assert nothing.low < 0 < nothing.high


def test_the_interval_narrows_with_seeds_and_one_seed_has_none():
    rng = np.random.default_rng(0)

    def width(seeds):
        samples = [centre + 0.05 * rng.standard_normal(seeds) for centre in (0.5, 0.45, 0.1)]
        owed = planted(*samples).owed("MIG")
        return owed.high - owed.low

    assert width(100) < 0.5 * width(10)
    assert np.isnan(planted([0.5], [0.4], [0.1]).owed("MIG").low)


def test_a_twin_knows_what_it_is_a_twin_of(folder):
    twin = twin_in(folder)
    assert twin.original == ORIGINAL
    assert base_of(twin) == preset("shapes3d")  # nobody said what it was made against


def hue(colour):
    r, g, b = colour.unbind(1)
    return torch.atan2(3**0.5 * (g - b), 2 * r - g - b)


def two_hues(dataset, seed):
    """The hues of floor and wall, each read off a pixel; seed 0 mixes them on the twin."""
    mixed = seed == 0 and dataset.name.endswith("perturbed")
    turn = torch.tensor([[0.8, 0.6], [-0.6, 0.8]]) if mixed else torch.eye(2)
    return lambda x: torch.stack([hue(x[:, :, -1, 0]), hue(x[:, :, 2, 0])], 1) @ turn


def test_a_method_that_is_misled_owes_and_one_that_is_not_does_not(folder, monkeypatch):
    def mig(codes, dataset, test):
        factors = dataset.factor_values(test).numpy()
        gap = mutual_information_gap(codes, factors[:, :2])
        return {"MIG": gap.score}, gap

    monkeypatch.setattr("unpick.stress.scores", mig)
    misled = stress_model(two_hues, twin_in(folder), seeds=1)
    steady = stress_model(lambda data, seed: two_hues(data, 1), twin_in(folder), seeds=1)
    assert misled.owed("MIG").share > 0.3
    assert abs(steady.owed("MIG").share) < 0.1
    assert misled.values["original"]["MIG"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which model"),
        (["beta-vae"], "on which twin"),
        (["beta-vae", "--perturbed", "nowhere"], "nowhere holds no twin.json"),
        (["beta-vea", "--perturbed", "{}"], "beta-vae"),
        (["model.py:fit", "--perturbed", "{}"], "model.py is not there"),
        (["beta-vae", "--perturbed", "{}", "--seeds", "0"], "seeds must be at least 1"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, said, folder, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["stress", *(word.format(folder) for word in arguments)])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
