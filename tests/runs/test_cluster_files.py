"""The files that bring up a cluster."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

FILES = Path(__file__).parents[2] / "examples" / "cluster"


def test_the_yaml_is_one_that_ray_up_takes():
    from ray.autoscaler._private.util import prepare_config, validate_config

    document = yaml.safe_load((FILES / "ray-up.yaml").read_text())
    validate_config(prepare_config(document))
    assert document["max_workers"] == len(document["provider"]["worker_ips"])


@pytest.mark.parametrize("code", [0, 2])
def test_the_slurm_script_starts_a_node_on_each_machine_and_then_the_study(tmp_path, code):
    """With stand-ins for Slurm's programs, Ray and unpick, which write what they are asked."""
    stand_ins = {
        "scontrol": "echo one; echo two; echo three",
        "srun": f'[[ $* == *hostname* ]] && echo 10.0.0.1 || echo "srun $*" >> {tmp_path}/asked',
        "ray": "exit 0",
        "unpick": f'echo "unpick $* at $RAY_ADDRESS" >> {tmp_path}/asked; sleep 0.5; exit {code}',
    }
    for name, text in stand_ins.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        **{"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_ID": "12345", "SLURM_CPUS_PER_TASK": "32"},
    }
    command = ["bash", str(FILES / "slurm.sh"), "thesis-4", "--scale", "paper"]
    done = subprocess.run(command, env=env, timeout=60, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    head, others, study = sorted((tmp_path / "asked").read_text().splitlines(), key=len)[::-1]
    assert "--nodelist=one ray start --head --node-ip-address=10.0.0.1 --port=22345" in head
    assert "--num-cpus=32 --num-gpus=0" in head
    assert "--nodes=2 --ntasks=2 --exclude=one ray start --address=10.0.0.1:22345" in others
    assert study == "unpick study thesis-4 --scale paper --on ray at 10.0.0.1:22345"
