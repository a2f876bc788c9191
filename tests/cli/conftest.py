from dataclasses import replace

import pytest

from unpick.cli import main
from unpick.objectives import BetaVAE
from unpick.runs import Runner, make
from unpick.training import Adam, preset


@pytest.fixture
def run_cli(capsys):
    """Runs `unpick ARGUMENTS`; returns the exit code, standard output and standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Two seeds of a small beta-VAE."""
    root = tmp_path_factory.mktemp("trained")
    config = replace(preset("synth-lin"), objective=BetaVAE(0.05), optimiser=Adam(1e-2), steps=300)
    return make([replace(config, seed=s) for s in range(2)], Runner(root, jobs=1, progress=False))
