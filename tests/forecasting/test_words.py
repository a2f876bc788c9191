"""What a forecast says, and what it does not dare to say."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from rich.console import Console

import unpick
from unpick.cli import main
from unpick.data import from_arrays
from unpick.forecasting import regressions
from unpick.forecasting.page import print_forecast, tables
from unpick.forecasting.spectra import Spectra, compare_spectra
from unpick.forecasting.variance_words import neighbourhoods
from unpick.forecasting.words import describe


def note(found, title):
    return next(each for each in found.findings if each.title == title)


def screen(found):
    console = Console(file=io.StringIO(), width=400)
    print_forecast(found, console)
    return console.file.getvalue()


def bars(lengths, shape):
    """A grid of two factors that act on values of their own."""
    w = np.stack(np.meshgrid(*[np.linspace(0, 1, 8)] * 2, indexing="ij"), -1).reshape(-1, 2)
    x = np.repeat(w * lengths, 2, axis=1).reshape(-1, *shape)
    return unpick.forecast(from_arrays(x, w, ["wide", "high"]), show=False)


def test_images_are_promised_nothing():
    cloud, images = bars([1.0, 0.5], (4,)), bars([1.0, 0.5], (1, 2, 2))
    assert cloud.pairs == images.pairs
    assert note(cloud, "Outlook").mark == "good"
    assert "A VAE is likely to" in note(cloud, "Outlook").text
    outlook = note(images, "Outlook")
    assert outlook.mark == "note"
    assert outlook.text.startswith("This is a question, not an answer: on images")
    assert "likely" not in outlook.text
    assert "No table of real data" in note(cloud, "How far to trust this").text


def test_a_pair_in_doubt_is_named():
    found = bars([1.0, 0.5], (4,))
    pair = replace(found.pairs[0], sureness=0.6)
    outlook = describe(replace(found, pairs=(pair,)))[0]
    assert "wide with high (told apart in 60% of them)" in outlook.text
    assert outlook.mark == "note"
    assert "In doubt" not in note(found, "Outlook").text


def test_confusion_is_explained_where_it_stands():
    found = bars([1.0, 1.0], (4,))
    assert "wide with high (confusion 0.50 of 1)" in note(found, "Outlook").text


def test_a_terminal_shows_twenty_pairs_and_says_how_many_more():
    rng = np.random.default_rng(1)
    w = rng.normal(size=(600, 8))
    data = from_arrays(w * np.arange(1, 9), w, list("abcdefgh"))
    found = unpick.forecast(data, points=20, show=False)
    assert len(tables(found)[1].rows) == 28
    assert "8 more pairs" in screen(found)
    assert "As beta grows, the factor disappears at about this" in tables(found)[0].caption


def test_words_without_factors_fit_the_numbers():
    rng = np.random.default_rng(2)
    few = unpick.forecast(from_arrays(rng.normal(size=(11, 3))), show=False)
    assert "a neighbourhood of 11." in note(few, "Neighbourhoods").text
    one = unpick.forecast(from_arrays(rng.normal(size=(100, 1))), show=False)
    assert "two longest" not in note(one, "Neighbourhoods").text


@pytest.mark.parametrize(
    ("close", "text"),
    [(0.1, "most points tell them apart"), (0.5, "may differ"), (0.6, "restarts will differ")],
)
def test_half_of_the_points_are_not_most(close, text):
    found = unpick.forecast(from_arrays(np.random.default_rng(3).normal(size=(50, 3))), show=False)
    spectra = Spectra((1.0,), (1.0, 1.0), 1, 1.0, close, 40)
    assert text in neighbourhoods(replace(found, spectra=spectra)).text


def test_constant_observations_are_refused():
    with pytest.raises(ValueError, match="observations of arrays must vary"):
        unpick.forecast(from_arrays(np.full((200, 4), 0.3)), show=False)


def test_a_neighbourhood_without_variance_has_no_components():
    rng = np.random.default_rng(4)
    x = np.r_[np.full((900, 3), 0.3), rng.normal(size=(100, 3)) + 9]
    spectra = compare_spectra(from_arrays(x), None, torch.Generator().manual_seed(0))
    assert spectra.local_components < 0.5
    assert spectra.global_components == 1


def test_the_command_names_its_own_options(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["forecast", "synth-lin", "--points", "500", "--jacobians", "1"])
    assert "jacobians must be at least 2, got 1" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.random.default_rng(5).normal(size=(50, 3)))
    with pytest.raises(SystemExit):
        main(["forecast", str(tmp_path / "x.npy"), "--periodic", "ph"])
    assert "has no factors" in capsys.readouterr().err


def test_points_are_counted_after_two_seconds(monkeypatch):
    monkeypatch.setattr(regressions, "PATIENCE", -1.0)
    said: list[str] = []
    assert list(regressions.counted(3, said.append)) == [0, 1, 2]
    assert said[-1] == "local directions: 2 of 3 points"
