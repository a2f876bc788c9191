"""Shell completion."""

import shutil
import subprocess

import pytest

from unpick.cli import VERBS
from unpick.cli.completion import words_of_verbs


def test_every_command_is_completed():
    assert list(words_of_verbs()) == list(VERBS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unpick stu", ["studies", "study"]),
        ("unpick train synth-n", ["synth-nonlin"]),
        ("unpick train synth-lin --learn", ["--learning-rate"]),
        ("unpick train synth-lin slow", ["slow-vae"]),
        ("unpick study surf", ["surfaces"]),
        ("unpick perturb --rec", ["--recipe"]),
    ],
)
def test_the_shell_offers_what_there_is(typed, offered, run_cli):
    code, script, _ = run_cli("completion", "bash")
    assert code == 0
    words = typed.split(" ")
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _unpick; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == offered
