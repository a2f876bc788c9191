"""Absurd sizes end in a sentence before any work, and divergence is told."""

from dataclasses import replace

import pytest
import torch

from unpick.cli import main
from unpick.data import ArrayStore, Dataset, Factor
from unpick.data.synthetic import LinearGaussian, SynthLin
from unpick.models import MLP, Full, ModelConfig
from unpick.objectives import AE, BetaVAE
from unpick.perturb.select_restarts import check_score
from unpick.probe import measure_run
from unpick.runs import Runner, make
from unpick.training import Adam, RunConfig

SMALL = RunConfig(
    SynthLin(points=500),
    ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
    BetaVAE(0.01),
    steps=60,
    batch=16,
)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SynthLin(points=3_000_000_000), "points must be at most 100000000 here"),
        (lambda: LinearGaussian(dimensions=10**6), "points must be at most 100 here"),
        (
            lambda: replace(SMALL, data=SynthLin(data_seed=2**63)),
            r"data_seed must be below 2\*\*40",
        ),
        (lambda: replace(SMALL, model=ModelConfig(10**6)), "must leave at most 268435456 weights"),
        (
            lambda: replace(SMALL, model=ModelConfig(10**4, "full", network=MLP((), "tanh", ()))),
            "with 10000 latents in a batch of 16",
        ),
    ],
)
def test_what_no_memory_can_hold_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("option", ["--seeds", "--jobs"])
def test_commands_refuse_absurd_numbers(option, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "synth-lin", option, "1000000000", "--runs", str(tmp_path)])
    assert end.value.code == 2
    assert "must be at most" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_many_correlated_latents_need_no_matrix_of_their_squares():
    d = 200
    parameters = torch.arange(Full.n_parameters(d), dtype=torch.float32)[None]
    parameters[:, d : 2 * d] = 0  # log-variances
    factor = Full.from_parameters(parameters, d).factor[0]
    rows, columns = torch.tril_indices(d, d, offset=-1)
    assert torch.equal(factor[rows, columns], parameters[0, 2 * d :])
    assert torch.equal(factor.triu(), torch.eye(d))


def test_a_loss_that_explodes_without_being_infinite_is_told(tmp_path):
    runner = Runner(tmp_path, jobs=1, progress=False)
    point = replace(SMALL, objective=AE(), model=replace(SMALL.model, posterior="delta"))
    steady, wild = make([point, replace(point, optimiser=Adam(300.0))], runner)
    assert wild.results["stopped"] is None
    assert steady.loss_rose() is None
    first, last = wild.loss_rose()
    assert last > 10 * first == 10 * wild.log()[0]["loss"]


def test_a_run_that_one_may_only_read_is_measured(tmp_path, monkeypatch):
    (run,) = make([SMALL], Runner(tmp_path, jobs=1, progress=False))

    def refuse(*_):
        raise PermissionError("read-only")

    def two(probe):
        return {"two": 2.0}

    monkeypatch.setattr("unpick.probe.cache.save_values", refuse)
    assert measure_run(run, [two]) == {"two": 2.0}


@pytest.mark.parametrize("by", ["mig", "udr"])
def test_a_factor_with_one_value_is_refused_before_restarts_are_trained(by):
    factors = (Factor("x", (0.0, 1.0)), Factor("y", (0.0,)))
    data = Dataset("toy", ArrayStore(torch.rand(2, 3)), factors)
    with pytest.raises(ValueError, match="y has one value"):
        check_score(data, by)
