"""How much score a method loses on a perturbed twin: planted answers, and the command."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import ttest_ind

from unpick.cli import main
from unpick.cli.stress import print_stress, summarise
from unpick.data import DataDamaged, split
from unpick.data.shapes3d import Shapes3D
from unpick.data.twins import Perturbed, read_twin, save_twin
from unpick.metrics import mutual_information_gap
from unpick.models import MLP, ModelConfig
from unpick.perturb import PerturbConfig
from unpick.perturb.lost_share import TWINS, Stress
from unpick.perturb.stress import (
    chance_scores,
    matched_epsilon,
    read_base,
    stress,
    stress_model,
    twin_configs,
)
from unpick.probe.measures import codes_and_factors
from unpick.runs import DamagedRun, Runner
from unpick.source_files import import_function
from unpick.training import RunConfig
from unpick.training.config import to_json, without_paths

ORIGINAL = Shapes3D(8)
MODEL = ModelConfig(2, likelihood="bernoulli", network=MLP((8,), "tanh", (8,), "tanh"))
BASE = RunConfig(ORIGINAL, MODEL, steps=3, batch=16)


@pytest.fixture
def folder(tmp_path):
    """A twin in which the change knows nothing: two levels, given at random."""
    generator = torch.Generator().manual_seed(0)
    table = 0.1 * (2 * torch.rand(2, *ORIGINAL.load().shape, generator=generator) - 1)
    level = torch.randint(2, (len(ORIGINAL.load()),), generator=generator)
    recipe = without_paths(to_json(PerturbConfig(BASE)))
    twin = Perturbed(ORIGINAL, "planted", str(tmp_path / "twin"))
    save_twin(twin, 0.1, table, level, recipe=recipe)
    return tmp_path / "twin"


def planted(original, noise, perturbed, chance=(0.0, 0.0), matched=None):
    matched = noise if matched is None else matched
    each = dict(zip(TWINS, (original, noise, matched, perturbed), strict=True))
    values = {twin: {"MIG": np.array(values)} for twin, values in each.items()}
    change = {"noisy": 0.06, "matched": 0.088, "perturbed": 0.09}
    return Stress(values, {"MIG": np.array(chance)}, change, len(original))


def test_lost_is_what_structure_takes_and_size_does_not():
    found = planted([0.49, 0.51], [0.3, 0.5], [0.1, 0.1])
    assert found.lost_share("MIG").value == pytest.approx(0.6)
    nothing = planted([0.49, 0.51], [0.2, 0.4], [0.2, 0.4]).lost_share("MIG")
    assert nothing.value == 0
    assert nothing.low < 0 < nothing.high


def test_the_interval_narrows_with_seeds_and_one_seed_has_none():
    rng = np.random.default_rng(0)

    def width(seeds):
        samples = [centre + 0.05 * rng.standard_normal(seeds) for centre in (0.5, 0.45, 0.1)]
        lost = planted(*samples).lost_share("MIG")
        return lost.high - lost.low

    assert width(100) < 0.5 * width(10)
    assert np.isnan(planted([0.5], [0.4], [0.1]).lost_share("MIG").low)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("perturbed", [0.4, 0.1])
def test_the_interval_holds_the_truth_in_95_of_100_cases(perturbed, seeds, rng):
    def holds():
        centres = (0.5, 0.4, perturbed)
        lost = planted(*(c + 0.05 * rng.standard_normal(seeds) for c in centres)).lost_share("MIG")
        return lost.low <= (0.4 - perturbed) / 0.5 <= lost.high

    assert np.mean([holds() for _ in range(500)]) == pytest.approx(0.955, abs=0.025)


def test_the_interval_is_welchs_where_the_original_is_known(rng):
    noise, perturbed = rng.normal(0.5, 0.1, 4), rng.normal(0.3, 0.02, 7)
    lost = planted([0.5, 0.5], noise, perturbed).lost_share("MIG")
    welch = ttest_ind(noise, perturbed, equal_var=False).confidence_interval(0.95)
    assert (lost.low, lost.high) == pytest.approx((2 * welch.low, 2 * welch.high))


def test_equal_values_have_an_interval_without_width():
    lost = planted([0.5, 0.5], [0.4, 0.4], [0.1, 0.1]).lost_share("MIG")
    assert lost.low == lost.value == lost.high


@pytest.mark.parametrize(
    ("original", "chance", "above"),
    [
        ([0.04, 0.06], [0.06, 0.06], False),
        ([0.05, 0.09], [0.04, 0.06], False),  # above on average, by less than the spread
        ([0.05], [0.02, 0.04, 0.06], False),  # one projection alone scores more
        ([0.4], [0.02, 0.04, 0.06], True),
        ([0.30, 0.35, 0.32], [0.02, 0.04, 0.06], True),
    ],
)
def test_what_is_not_clearly_above_chance_has_no_share(original, chance, above):
    found = planted(original, [0.05] * len(original), [0.01] * len(original), chance)
    assert found.is_above_chance("MIG") == above
    assert math.isnan(found.lost_share("MIG").value) != above
    assert summarise("pcl", found).startswith("There is no telling what pcl loses") != above


def test_chance_passes_for_more_in_25_of_1000_cases_at_most(rng):
    """A method as good as a random projection: how often it gets a share."""

    def passes():
        own, chance = 0.1 + 0.02 * rng.standard_normal((2, 5))
        return planted(own, own, own, chance).is_above_chance("MIG")

    assert np.mean([passes() for _ in range(1000)]) < 0.04


def test_an_interval_wider_than_the_score_is_undecided():
    found = planted([0.5, 0.6, 0.55], [0.1, 0.9, 0.5], [0.9, 0.1, 0.2])
    lost = found.lost_share("MIG")
    assert lost.undecided
    assert lost.high - lost.low > 1
    text = summarise("pcl", found)
    assert text.startswith("3 seeds do not tell how much of its MIG pcl loses")
    assert f"between {lost.low:.0%} and {lost.high:.0%}" in text
    assert f"{lost.value:.0%} of its MIG" not in text
    assert not planted([0.5], [0.4], [0.1]).lost_share("MIG").undecided  # it has no interval


def test_both_controls_count():
    found = planted([0.5, 0.5], [0.5, 0.5], [0.1, 0.1], matched=[0.2, 0.2])
    assert found.lost_share("MIG").value == pytest.approx(0.8)
    assert found.lost_share("MIG", "matched").value == pytest.approx(0.2)
    text = summarise("pcl", found)
    assert "80% of its MIG" in text
    assert "20% beyond noise of the same variance." in text
    equal = planted([0.5, 0.5], [0.5, 0.5], [0.1, 0.1], matched=[0.1, 0.1])
    assert "0% beyond noise of the same variance (which may be chance)" in summarise("pcl", equal)


def test_a_method_that_gains_by_the_change_loses_nothing():
    found = planted([0.50, 0.51], [0.50, 0.51], [0.80, 0.81])
    assert summarise("pcl", found).endswith("factors: it gains.")
    spread = [0.48, 0.52, 0.5], [0.45, 0.52, 0.5], [0.45, 0.5, 0.48]
    assert "which may be chance" in summarise("pcl", planted(*spread))


def test_matched_noise_has_the_variance_of_the_change(folder):
    twin = read_twin(folder)
    matched = twin_configs(twin)["matched"]
    assert matched.epsilon == matched_epsilon(twin)
    some = torch.arange(0, len(ORIGINAL.load()), 997)
    plain = ORIGINAL.load().observe(some)
    sizes = [
        float((data.load().observe(some) - plain).square().mean())
        for data in (matched, twin, twin_configs(twin)["noisy"])
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    assert matched.epsilon == pytest.approx(0.1, rel=0.05)  # the change here is uniform noise, too
    table = 0.1 * torch.ones(2, *ORIGINAL.load().shape)  # and here it is at its largest everywhere
    flat = Perturbed(ORIGINAL, "flat", str(folder.parent / "flat"))
    save_twin(flat, 0.1, table, torch.zeros(len(ORIGINAL.load())).long())
    assert matched_epsilon(flat) == pytest.approx(0.1 * 3**0.5, rel=1e-3)


def test_the_table_says_what_it_is_of(folder, capsys, monkeypatch):
    def printed(found):
        print_stress("pcl", read_twin(folder), found)
        return " ".join(capsys.readouterr().out.split())

    monkeypatch.setenv("COLUMNS", "160")
    several = printed(planted([0.5, 0.6, 0.7], [0.5, 0.6], [0.1, 0.1, 0.2]))
    assert "over 3 seeds" in several
    assert "95 % over seeds" in several
    assert "Diverged and left out: 1 on noisy." in several
    assert "noisy 0.060, matched 0.088, perturbed 0.090" in several
    assert "learner" not in several
    only = planted([0.5], [0.5], [0.1])
    renamed = {twin: {"DCI": values["MIG"], **values} for twin, values in only.values.items()}
    both = printed(
        replace(only, values=renamed, chance=dict.fromkeys(renamed["noisy"], np.zeros(2)))
    )
    assert "DCI: disentanglement; learner: unpick's fast boosting, a proxy." in both
    one = printed(planted([0.5], [0.5], [0.1]))
    assert "one seed" in one
    assert "95 %" not in one
    assert "left out" not in one
    assert "80% beyond noise of the same variance (one seed)." in one
    assert "lost beyond noisy 80%" in one
    assert "lost beyond noisy –" in printed(planted([0.5], [0.5], [0.1], chance=(0.6, 0.6)))
    wide = printed(planted([0.5, 0.6, 0.55], [0.1, 0.9, 0.5], [0.9, 0.1, 0.2]))
    assert "lost beyond noisy undecided" in wide


def test_a_twin_knows_what_it_is_a_twin_of_and_what_it_was_made_against(folder):
    twin = read_twin(folder)
    assert twin.original == ORIGINAL
    assert read_base(twin) == BASE
    document = json.loads((folder / "twin.json").read_text())
    del document["recipe"]
    (folder / "twin.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="no recipe"):
        read_base(twin)


def hue(colour):
    r, g, b = colour.unbind(1)
    return torch.atan2(3**0.5 * (g - b), 2 * r - g - b)


def two_hues(dataset, seed):
    """The hues of floor and wall, each read off a pixel; seed 0 mixes them on the twin."""
    mixed = seed == 0 and dataset.name.endswith("perturbed")
    turn = torch.tensor([[0.8, 0.6], [-0.6, 0.8]]) if mixed else torch.eye(2)
    return lambda x: torch.stack([hue(x[:, :, -1, 0]), hue(x[:, :, 2, 0])], 1) @ turn


@pytest.fixture
def only_mig(monkeypatch):
    """Of the first two factors, since other scores take their time."""

    def mig(probe):
        codes, factors = codes_and_factors(probe)
        return {"MIG": mutual_information_gap(codes, factors[:, :2]).score}

    monkeypatch.setattr("unpick.perturb.stress.FACTOR_SCORES", (mig,))


@pytest.mark.usefixtures("only_mig")
def test_chance_is_of_several_projections():
    """One alone may be twice as good as the next."""
    dataset = ORIGINAL.load()
    test = split(dataset).test[:2000]
    x, factors = dataset.observe(test).flatten(1), dataset.factor_values(test).numpy()[:, :2]
    weights = torch.randn(5, x.shape[1], 3, generator=torch.Generator().manual_seed(0))
    scores = [mutual_information_gap((x @ w).double().numpy(), factors).score for w in weights]
    assert max(scores) > 1.2 * min(scores)
    assert chance_scores(dataset, test, 3)["MIG"] == pytest.approx(scores, rel=1e-6)


@pytest.mark.usefixtures("only_mig")
def test_a_method_that_is_misled_loses_and_one_that_is_not_does_not(folder):
    misled = stress_model(two_hues, read_twin(folder), seeds=1)
    steady = stress_model(lambda data, seed: two_hues(data, 1), read_twin(folder), seeds=1)
    assert misled.lost_share("MIG").value > 0.3
    assert abs(steady.lost_share("MIG").value) < 0.1
    assert misled.values["original"]["MIG"] > 0.5 > misled.chance["MIG"].max() > 0
    assert misled.change["noisy"] == pytest.approx(0.1 / 3**0.5, rel=0.15)  # less at the borders
    assert misled.change["original"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("only_mig")
def test_the_command_prints_a_table_and_a_sentence(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "mine.py").write_text("from perturb.test_stress import two_hues as fit")
    ours = ["--jobs", "1", "--no-progress", "--runs", "here", "--steps", "2"]
    for target, options in (("beta-vae", ours), ("mine.py:fit", ["--runs", "here"])):
        with pytest.raises(SystemExit) as stop:
            main(["stress", target, "--perturbed", str(folder), "--seeds", "2", *options])
        out = capsys.readouterr().out
        table = " ".join(out.split())
        assert stop.value.code == 0
        for row in ("chance", "original", "matched", "lost beyond noisy", "lost beyond matched"):
            assert row in table
        assert "over 2 seeds" in table
        assert target in out.splitlines()[-1]
    assert len([*(tmp_path / "here").glob("shapes3d*")]) == 8
    assert len([*(tmp_path / "here" / "own").glob("two_hues-shapes3d*")]) == 8


COUNTED = """
from pathlib import Path
from perturb.test_stress import two_hues
def fit(dataset, seed):
    with Path("trained").open("a") as file:
        file.write(f"{dataset.name} {seed}\\n")
    return two_hues(dataset, seed)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("only_mig")
def test_trainings_of_your_own_are_kept_and_an_edited_file_trains_again(
    folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file, trained, twin = tmp_path / "counted.py", tmp_path / "trained", read_twin(folder)

    def run(seeds):
        trained.write_text("")
        fit = import_function("counted.py:fit")
        found = stress_model(fit, twin, seeds=seeds, root=tmp_path / "runs")
        return found, trained.read_text().split("\n")[:-1]

    file.write_text(COUNTED)
    first, lines = run(1)
    assert [line.split()[0] for line in lines] == [
        *("shapes3d", "shapes3d-noisy", "shapes3d-noisy", "shapes3d-perturbed")
    ]
    second, lines = run(2)
    assert [line.split()[1] for line in lines] == ["1"] * 4  # seed 0 was read
    for twin_name in TWINS:
        assert second.values[twin_name]["MIG"][0] == first.values[twin_name]["MIG"][0]
    file.write_text(COUNTED + "# another hash\n")
    assert len(run(1)[1]) == 4
    for damaged in (tmp_path / "runs" / "own").glob("*/codes.safetensors"):
        damaged.write_bytes(b"x")
    with pytest.raises(DamagedRun, match=r"codes.safetensors does not match its checksum"):
        run(1)


@pytest.mark.parametrize("words", [["--help"], ["beta-vae", "--help"]])
def test_help_needs_no_twin(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["stress", *words])
    assert stop.value.code == 0
    assert "usage: unpick stress MODEL" in capsys.readouterr().out


def test_what_can_be_known_is_known_before_training(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("unpick.perturb.stress.make", None)
    twin = read_twin(folder)
    with pytest.raises(ValueError, match="latents must be at least 2 to be scored, got 1"):
        stress(replace(BASE, model=replace(MODEL, latents=1)), twin, Runner(tmp_path))
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        stress(BASE, twin, Runner(tmp_path), seeds=0)
    blind = replace(ORIGINAL.load(), factors=())
    monkeypatch.setattr(Shapes3D, "load", lambda _: blind)
    for start in (
        lambda: stress(BASE, twin, Runner(tmp_path)),
        lambda: stress_model(two_hues, twin),
    ):
        with pytest.raises(ValueError, match="at least 2 factors, and shapes3d has 0"):
            start()


@pytest.mark.slow
@pytest.mark.usefixtures("only_mig")
def test_a_model_that_diverged_is_left_out_and_others_are_not_lost(folder):
    def fit(dataset, seed):
        return two_hues(dataset, 0) if seed else lambda x: torch.full((len(x), 2), math.nan)

    found = stress_model(fit, read_twin(folder), seeds=2)
    assert [len(found.values[name]["MIG"]) for name in TWINS] == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="every training on shapes3d diverged"):
        stress_model(fit, read_twin(folder), seeds=1)


def test_twins_that_tell_nonsense_of_their_original_are_damaged(folder, tmp_path):
    document = json.loads((folder / "twin.json").read_text())
    for nonsense in ({}, {"name": "shapes3d", "colour": 3}, 7):
        (tmp_path / "twin.json").write_text(json.dumps(document | {"original": nonsense}))
        with pytest.raises(DataDamaged, match=r"twin.json is truncated or no file of its kind"):
            read_twin(tmp_path)
    with pytest.raises(ValueError, match="shapes3d is rendered; got /files"):
        read_twin(folder, "/files")


STRANGE = """
number = 3
def broken(dataset, seed):
    raise KeyError("weights")
def nothing(dataset, seed):
    pass
def late(dataset, seed):
    return lambda x: 1 / 0
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which model"),
        (["beta-vae"], "on which twin"),
        (["beta-vae", "--perturbed", "nowhere"], "nowhere holds no twin.json"),
        (["beta-vea", "--perturbed", "{}"], "beta-vae"),
        (["model.py:fit", "--perturbed", "{}"], "model.py is not there"),
        (["model.py", "--perturbed", "{}"], "no function named as FILE.py:function"),
        (["beta-vae", "--perturbed", "{}", "--seeds", "0"], "seeds must be at least 1"),
        (["beta-vae", "--perturbed", "{}", "--size", "16"], "the data follow from the twin"),
        (["strange.py:number", "--perturbed", "{}"], "strange.py has no function 'number'"),
        (
            ["strange.py:broken", "--perturbed", "{}"],
            "strange.py:broken failed, see above: KeyError: 'weights'",
        ),
        (
            ["strange.py:nothing", "--perturbed", "{}"],
            "failed, see above: ValueError: fit must return encode",
        ),
        (
            ["strange.py:late", "--perturbed", "{}"],
            "strange.py:late failed, see above: ZeroDivisionError",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, message, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange.py").write_text(STRANGE)
    with pytest.raises(SystemExit) as stop:
        main(["stress", *(word.format(folder) for word in arguments)])
    assert stop.value.code == 2
    *before, last = capsys.readouterr().err.splitlines()
    assert message in last
    assert any("Traceback" in line for line in before) == ("failed" in message)


def test_options_of_trainings_are_refused_for_a_function(folder, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["stress", "model.py:fit", "--perturbed", str(folder), "--jobs", "2"])
    assert stop.value.code == 2
    assert "Unrecognized options: --jobs, 2" in capsys.readouterr().err
