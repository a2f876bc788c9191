"""Devices: chosen by name, the same numbers on each, and nothing left behind on the CPU."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthLin
from unpick.devices import check_precision, describe_processor, find_device, matrix_products
from unpick.models import MLP, Conv, ModelConfig, build, networks
from unpick.objectives import BetaVAE
from unpick.runs import Runner, make
from unpick.runs.executor import plan, train_group
from unpick.training import RunConfig, Training, train

HERE = Path(__file__).parent
SMALL = RunConfig(
    SynthLin(points=500),
    ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
    BetaVAE(0.01),
    steps=60,
    batch=16,
)
CONV = Conv(((4, 4, 2, 1), (6, 4, 2, 1)), (8,), (8,), 6, ((4, 4, 2, 1),), "relu", 1, 1)


@pytest.fixture(scope="module")
def accelerator():
    """What happened to each case on the stand-in accelerator, in a process of its own."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    told = subprocess.run(
        [sys.executable, str(HERE / "on_accelerator.py")],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    cases = [json.loads(line) for line in told.stdout.splitlines()]
    assert told.returncode == 0, told.stderr
    return {case["case"]: case["failure"] for case in cases}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixing", "step", "measures", "perturbation"])
def test_nothing_is_left_on_the_cpu(accelerator, kind):
    """Every objective, network and posterior, every measure and the perturbation on `accel`."""
    chosen = {name: failure for name, failure in accelerator.items() if name.startswith(kind)}
    assert chosen
    assert {name: failure for name, failure in chosen.items() if failure} == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'"),
        ("cuda:7", "device 'cuda:7' is not here: this machine has 0 CUDA GPUs"),
        ("mps", "device 'mps' is not here: this machine has no Apple GPU"),
        ("meta", "device 'meta' is not here"),
        ("xla", "device 'xla' is not here"),
    ],
)
def test_a_device_that_is_not_here_is_named(monkeypatch, name, message):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        find_device(name)
    with pytest.raises(ValueError, match=message):
        Runner(device=name)


def test_auto_is_a_gpu_if_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(find_device(name)) for name in ("auto", "cuda:1", "cpu")] == [
        "cuda",
        "cuda:1",
        "cpu",
    ]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert str(find_device()) == "mps"


def test_members_share_a_gpu_and_split_over_cores(monkeypatch):
    """On a GPU one process trains all members together, convolutional ones too."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    model = ModelConfig(2, network=CONV)
    members = [replace(SMALL, model=model, seed=k) for k in range(4)]
    shapes = {SMALL.data: (1, 16, 16)}
    on_gpu, on_cpu = Runner(device="cuda"), Runner(device="cpu", jobs=2)
    assert [len(group) for group in plan(members, shapes, on_gpu)] == [4]
    assert [len(group) for group in plan(members, shapes, on_cpu)] == [1] * 4


@pytest.mark.parametrize("mode", [True, False])
def test_a_grouped_convolution_is_that_of_each_member(monkeypatch, mode, generator):
    """Output, gradients and running statistics; members together and one by one."""
    x = torch.rand(3, 5, 2, 16, 16, generator=generator)
    results = []
    for together in (False, True):
        monkeypatch.setattr(networks, "convolves_together", lambda device, t=together: t)
        model = build(ModelConfig(3, network=CONV), (2, 16, 16), [0, 1, 2]).train(mode)
        output = model.decode(model.encode(x).mean)
        weights = [*model.parameters()]
        gradients = torch.autograd.grad(output.square().sum(), weights, allow_unused=True)
        known = [g for g in gradients if g is not None]
        results.append([output.detach(), *known, *model.buffers()])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_precision_is_checked_and_restored():
    with pytest.raises(ValueError, match="precision 'tf32' needs a CUDA GPU, got device 'cpu'"):
        Runner(device="cpu", precision="tf32")
    check_precision("tf32", torch.device("cuda"))
    before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    with matrix_products("tf32"):
        assert torch.backends.cudnn.allow_tf32
        assert torch.get_float32_matmul_precision() == "high"
    with matrix_products("fp32"):
        assert not torch.backends.cudnn.allow_tf32
    assert (torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()) == before


def test_bfloat16_trains_nearly_the_same():
    """Autograd in half the digits: other numbers than float32, but not far from them."""
    exact, rough = (
        train(SMALL, progress=False, device="cpu", precision=each) for each in ("fp32", "bf16")
    )
    losses = [ensemble.log[-1]["loss"][0] for ensemble in (exact, rough)]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)
    assert all(weight.dtype == torch.float32 for weight in rough.model.parameters())


def test_a_run_records_where_it_was_trained_and_its_name_does_not(tmp_path):
    data = SMALL.data.load()
    folders = []
    for precision in ("fp32", "bf16"):
        runner = Runner(tmp_path / precision, progress=False, device="cpu", precision=precision)
        train_group([SMALL], runner, data, lambda update: None)
        folders.append(make([SMALL], runner)[0].path)
    assert folders[0].name == folders[1].name
    recorded = [json.loads((each / "environment.json").read_text()) for each in folders]
    assert [each["precision"] for each in recorded] == ["fp32", "bf16"]
    assert [each["device"] for each in recorded] == ["cpu", "cpu"]


def test_a_run_that_goes_on_elsewhere_lists_both_environments(tmp_path):
    """Interrupted in one precision, resumed in another: the later one stands first."""

    def press(update):
        if update.step >= 20:
            raise KeyboardInterrupt

    data, first = SMALL.data.load(), Runner(tmp_path, device="cpu", precision="bf16")
    with pytest.raises(KeyboardInterrupt):
        train_group([SMALL], first, data, press)
    second = replace(first, precision="fp32", progress=False)
    train_group([SMALL], second, data, lambda update: None)
    run = make([SMALL], second)[0]
    recorded = json.loads((run.path / "environment.json").read_text())
    assert recorded["precision"] == "fp32"
    assert [each["precision"] for each in recorded["earlier"]] == ["bf16"]
    train_group([SMALL], first, data, lambda update: None)  # it is finished: nothing to record
    assert json.loads((run.path / "environment.json").read_text()) == recorded


def test_batches_read_ahead_are_those_of_their_step():
    """A batch that was read while the device was busy is the one that would be read later."""
    config = replace(SMALL, data=Sprites(size=32), batch=8)
    data = config.data.load()
    ahead, later = (Training([config, replace(config, seed=1)], data).feed for _ in range(2))
    ahead.device = torch.device("meta")  # not the CPU: there is something to read ahead for
    real = ahead._read

    def read(purpose, step):
        ahead.device = torch.device("cpu")
        try:
            return real(purpose, step)
        finally:
            ahead.device = torch.device("meta")

    ahead._read = read
    for step in range(3):
        for purpose in ("batch", "other batch"):
            found = ahead.batch(purpose, step)
            assert torch.equal(found.x, later.batch(purpose, step).x)
        ahead.read_ahead(step + 1)


def test_a_processor_is_named_by_instructions_and_by_model_where_linux_tells(monkeypatch):
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "AVX9")
    text = "processor\t: 0\nvendor_id\t: Maker\ncpu family\t: 7\nmodel\t\t: 3\nmodel name\t: X: Y"
    monkeypatch.setattr(Path, "read_text", lambda self: f"{text}\n\n{text.replace('7', '8')}\n")
    assert describe_processor() == "AVX9, Maker 7 3"
    monkeypatch.setattr(Path, "read_text", lambda self: "processor : 0\nFeatures : fp\n")
    assert describe_processor() == "AVX9"  # ARM tells no model in these words

    def missing(self):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert describe_processor() == "AVX9"
