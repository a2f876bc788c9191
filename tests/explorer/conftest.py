from dataclasses import replace

import pytest

from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthLin
from unpick.explorer.server import Explorer, make_app
from unpick.explorer.subject import subject_of_folder
from unpick.models import MLP, ModelConfig
from unpick.objectives import BetaVAE
from unpick.runs import Runner, make
from unpick.training import Adam, RunConfig


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Two runs on points and two on images, hardly trained."""
    points = RunConfig(
        data=SynthLin(points=600),
        model=ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
        objective=BetaVAE(0.01),
        optimiser=Adam(1e-2),
        steps=60,
        batch=32,
    )
    network = MLP((16,), "relu", (16,), "relu")
    images = replace(
        points,
        data=Sprites(32, rows=2),
        model=ModelConfig(4, likelihood="bernoulli", network=network),
        steps=40,
    )
    root = tmp_path_factory.mktemp("explored")
    configs = [replace(each, seed=seed) for each in (points, images) for seed in (0, 1)]
    return make(configs, Runner(root, jobs=1, progress=False))


@pytest.fixture(scope="session")
def on_points(runs):
    return subject_of_folder(runs[0].path)


@pytest.fixture(scope="session")
def on_images(runs):
    return subject_of_folder(runs[2].path)


@pytest.fixture
def app(runs):
    return make_app(Explorer(watched=[runs[0].path.parent]), "secret")
