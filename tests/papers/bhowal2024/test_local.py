from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from unpick.data.synthetic import SynthLin
from unpick.geometry.neighbourhood import noise_pairs
from unpick.papers.bhowal2024 import settings as bhowal
from unpick.papers.bhowal2024.local import claims, figures, scheme
from unpick.papers.bhowal2024.local import study as bhowal_local
from unpick.papers.bhowal2024.local.figures import (
    NoiseAndErrors,
    PicturedChange,
    errors_by_noise,
    picture_changes,
)
from unpick.papers.bhowal2024.local.readings import local_decoders, local_errors, paired_p_value
from unpick.probe import measure_run
from unpick.probe.cache import file_of
from unpick.runs import Run, Runner, make, read
from unpick.runs.disk import folder
from unpick.study.published import Printed
from unpick.study.study import Cell, Outcome, Results
from unpick.training import preset

CONFIG = replace(preset("synth-lin"), data=SynthLin(points=400), steps=20)


def posterior(n=8, d=3, deviation=0.3):
    return torch.zeros(n, d).double(), torch.full((n, d), deviation).double()


def test_a_tanh_is_found_by_tanh_and_missed_by_the_others(generator):
    mixing = torch.randn(40, 3, generator=generator).double()
    found = local_errors(lambda z: torch.tanh(z @ mixing.T), *posterior())
    assert found["nonlinear"] < 1e-4
    assert found["nonlinear, loss"] < 1e-5
    assert found["even"] < 1e-25
    assert 0.005 < found["linear"] < found["Jacobian"]
    assert found["gain, linear to nonlinear"] == pytest.approx(found["linear"], rel=0.01)
    for pair in ("linear to nonlinear", "Jacobian to nonlinear", "Jacobian to linear"):
        assert found[f"p, {pair}"] == pytest.approx(2**-8)  # all eight agree


def test_a_linear_decoder_leaves_nothing_and_has_the_square_of_its_change_as_released(generator):
    mixing = 0.1 * torch.randn(50, 3, generator=generator).double()
    mean, deviation = posterior()
    found = local_errors(lambda z: z @ mixing.T, mean, deviation)
    for name in ("Jacobian", "linear", "Jacobian, loss", "linear, loss"):
        assert found[name] < 1e-25
    noise, _ = noise_pairs(mean, 10, None)
    actual = ((noise * deviation[:, None]) @ mixing.T).square().mean((1, 2))
    assert found["released linear, fitted"] == pytest.approx(float(actual.square().mean()))


def test_of_a_parabola_every_map_leaves_what_is_even():
    """Noise comes in pairs, so that a line takes none of it for a slope: it is the Jacobian."""
    found = local_errors(lambda z: 0.1 * z + z.square(), *posterior())
    assert 0.9 < found["even"] < 1
    for name in ("Jacobian", "linear"):
        assert found[name] == pytest.approx(found["even"])
    assert found["nonlinear"] > found["even"]
    assert found["linear, loss"] == pytest.approx(found["even"] ** 2, rel=0.05)


def test_the_released_number_of_a_decoder_that_does_not_move_is_that_of_its_random_start():
    """Of the form that the figure draws: ((sum of variances + 1) / (3 d))^2."""
    mean, deviation = posterior(n=40, d=10, deviation=0.7)
    found = local_errors(lambda z: 0 * z.repeat(1, 6), mean, deviation)
    expected = ((10 * 0.49 + 1) / 30) ** 2
    assert found["noise"] == pytest.approx(4.9)
    for when in (", unfitted", ""):
        assert found[f"released linear{when}"] == pytest.approx(expected, rel=0.15)
        assert found[f"released nonlinear{when}"] < found[f"released linear{when}"]
    assert found["p, linear to nonlinear"] == 1  # no difference is no evidence
    assert found["Jacobian"] == found["nonlinear, loss"] == 0


def test_p_values_tell_the_direction(generator):
    steady = 1 + torch.rand(20, generator=generator).numpy()
    assert paired_p_value(steady) == pytest.approx(2**-20)
    assert paired_p_value(-steady) == 1
    assert paired_p_value(np.zeros(5)) == 1
    assert paired_p_value(np.array([1.0, -1.1, 2.0, -2.1, 3.0, -3.1])) == pytest.approx(
        0.66, abs=0.1
    )
    assert paired_p_value(np.array([*steady, -1000.0])) < 0.01  # which a t-test would not see


def test_measures_are_cached_and_read_back(tmp_path):
    make([CONFIG], Runner(tmp_path, jobs=1, progress=False))
    run = read(folder(CONFIG, tmp_path))
    taken = measure_run(run, bhowal_local.STUDY.read, CONFIG.data.load)
    assert taken["Jacobian"] > 0

    def refuse():
        raise AssertionError

    assert measure_run(run, bhowal_local.STUDY.read, refuse) == taken
    file_of(run, local_decoders).write_text("{}")
    assert measure_run(run, bhowal_local.STUDY.read, CONFIG.data.load) == taken


def outcome(row="sprites", column="VAE", printed=None, **values):
    """What would have come out; `__` stands for a comma."""
    named = {name.replace("__", ", ").replace("_", " "): v for name, v in values.items()}
    arrays = {name: np.array(v, dtype=float) for name, v in named.items()}
    runs = tuple(Run(Path(), CONFIG, {}) for _ in next(iter(arrays.values())))
    return Outcome(Cell(row, column, CONFIG, len(runs), printed or {}), runs, arrays)


def results(*outcomes, cells=None):
    asked = [each.cell for each in outcomes] if cells is None else cells
    study = replace(bhowal_local.STUDY, cells=lambda scale: asked)
    return Results(study, "standard", outcomes)


SEEDS = 0.001 * np.array([-1.0, 0.0, 1.0])


def models(row="sprites", **measures):
    """An outcome for each model, from lists with a mean a model."""
    return [
        outcome(row, name, **{m: values[k] + SEEDS for m, values in measures.items()})
        for k, name in enumerate(claims.NAMES)
    ]


def test_lower_asks_every_cell_and_counts_what_is_significant():
    check = partial(claims.lower_error, "linear", "nonlinear")
    p = {"p__linear_to_nonlinear": [0.001, 0.03]}
    good = outcome(linear=[0.2, 0.3], nonlinear=[0.1, 0.2], **p)
    bad = outcome(
        column="beta-VAE",
        linear=[0.2, 0.3],
        nonlinear=[0.3, 0.4],
        p__linear_to_nonlinear=[0.999, 0.5],
    )
    verdict = check(results(good))
    assert verdict.holds is True
    assert "VAE 0.25 to 0.15" in verdict.evidence
    assert (
        "p < 0.01 in 1 and p < 0.05 in 2 of 2 runs, the other way around in 0" in verdict.evidence
    )
    verdict = check(results(good, bad))
    assert verdict.holds is False
    assert "p < 0.05 in 2 of 4 runs, the other way around in 1" in verdict.evidence
    assert check(results()).holds is None
    wide = outcome(linear=[0.2, 0.3, 0.5], nonlinear=[0.1, 0.1, 0.6])
    assert check(results(wide)).word == "undecided"
    large = outcome(linear=[0.2, 5.0, 70.0], nonlinear=[0.1, 4.9, 69.9])
    assert check(results(large)).word == "holds"  # in pairs


def test_what_is_missing_counts_unless_its_data_are_not_here(monkeypatch, tmp_path):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    check = partial(claims.lower_error, "linear", "nonlinear")
    good = outcome(linear=[0.2, 0.2], nonlinear=[0.1, 0.1])
    mpi3d = Cell("mpi3d", "VAE", bhowal.config("mpi3d", "vae", "standard"))
    assert check(results(good, cells=[good.cell, mpi3d])).holds is True
    assert check(results(good, cells=[good.cell, replace(good.cell, column="c")])).holds is None


@pytest.mark.parametrize(
    ("values", "rises", "largest", "least"),
    [
        ([0.1, 0.2, 0.3], True, False, True),
        ([0.1, 0.3, 0.2], False, False, True),
        ([0.3, 0.1, 0.2], False, True, False),
        ([0.2, 0.1, 0.3], False, False, False),
        ([0.1, 0.2, 0.2001], None, False, True),
        ([0.2, 0.2, 0.2], None, None, None),
    ],
)
def test_orders_of_models(values, rises, largest, least):
    some = results(*models(linear=values))
    assert claims.errors_rise(("linear",), some).holds is rises
    assert claims.vae_largest(("linear",), some).holds is largest
    assert claims.vae_least(("linear",), some).holds is least
    other = results(*models(linear=values), *models("heads", linear=[0.1, 0.2, 0.3]))
    assert claims.errors_rise(("linear",), other).holds is rises
    assert claims.errors_rise(("linear",), results(*models(linear=values)[:2])).holds is None


def test_shares_and_where_a_gain_comes_from():
    printed = {"linear": Printed(0.5), "nonlinear": Printed(0.4)}  # a fifth
    for nonlinear, holds in (([0.17, 0.17], True), ([0.19, 0.191], False), ([0.17, 0.19], None)):
        some = outcome(printed=printed, linear=[0.2, 0.2], nonlinear=nonlinear)
        assert claims.gains_as_published(results(some)).holds is holds
    unprinted = results(outcome(linear=[0.2], nonlinear=[0.1]))
    assert claims.gains_as_published(unprinted).holds is None
    for line, holds in ((0.21, True), (0.29, False)):
        some = outcome(Jacobian=[0.3], linear=[line], nonlinear=[0.2], even=[0.15])
        assert claims.gain_by_fitting(results(some)).holds is holds
        assert claims.residual_mostly_even(results(some)).holds is True
    worse = outcome(Jacobian=[0.2], linear=[0.2], nonlinear=[0.3], even=[0.1])
    assert claims.gain_by_fitting(results(worse)).holds is False
    assert claims.residual_mostly_even(results(worse)).holds is False


def test_numbers_of_a_layer_that_learns_are_told_from_those_of_one_that_does_not():
    same = {"released_linear": [1.001], "released_linear__unfitted": [1.0]}
    for fitted, holds in ((0.5, True), (0.4, False)):
        some = outcome(**same, released_nonlinear=[fitted], released_nonlinear__unfitted=[0.501])
        assert claims.never_fitted(results(some)).holds is holds


@pytest.mark.parametrize("claim", bhowal_local.STUDY.claims, ids=lambda claim: claim.text[:40])
def test_nothing_is_said_without_runs(claim):
    cells = bhowal_local.cells("standard")
    assert claim.check(Results(bhowal_local.STUDY, "standard")).holds is None
    assert all(bhowal_local.UNIT in cell.note for cell in cells)


def test_drawings_show_what_they_are_given():
    before, step = torch.full((3, 4, 4), 0.5), torch.linspace(-0.3, 0.3, 48).view(3, 4, 4)
    figure = picture_changes(
        {"VAE": PicturedChange(before, before + step, {"all": step, "none": 0 * step})}
    )
    told = [axes.get_xlabel() for axes in figure.axes]
    assert told == ["", "", "", "leaves 0%", "leaves 100%"]
    some = NoiseAndErrors(np.array([2.0, 8.0]), np.array([0.1, 0.2]), np.array([0.01, 0.09]))
    left, right = errors_by_noise({"sprites": {"VAE": some}}, latents=10).axes
    dots, curve = right.lines
    np.testing.assert_allclose(left.lines[0].get_ydata(), some.residual)
    np.testing.assert_allclose(np.interp(8, *curve.get_data()), dots.get_ydata()[1], rtol=1e-3)
    assert figures.draw_errors(results()) is None
    assert figures.draw_sizes(results()) is None
    assert figures.draw_changes("sprites", results()) is None
    for draw in (picture_changes, partial(errors_by_noise, latents=10)):
        with pytest.raises(ValueError, match="at least one"):
            draw({})


def test_noise_costs_least_where_latents_are_those_of_the_data():
    """Figure 3: V_D is the identity, whichever turn the data's axes have."""
    assert abs(scheme.find_turn()) < 1


def test_the_encoder_of_figure_3_inverts_its_decoder(rng):
    codes = rng.normal(size=(50, 2))
    assert scheme.stretch(scheme.squash(codes)) == pytest.approx(codes)
    figure = scheme.draw_scheme(Results(bhowal_local.STUDY, "quick"))
    encoder, decoder = figure.axes[:5], figure.axes[5:]
    first, last = decoder[0].lines[0].get_xydata(), encoder[-1].lines[0].get_xydata()
    assert last == pytest.approx(first, abs=1e-6)
    assert encoder[0].lines[0].get_xydata() == pytest.approx(decoder[-1].lines[0].get_xydata())
    blue, orange = (line.get_xydata() for line in decoder[0].lines[1:])
    assert blue[:, 1] == pytest.approx(0)
    assert orange[:, 0] == pytest.approx(0)
