"""What the README shows must run."""

import re
from pathlib import Path

from unpick.cli import HELP
from unpick.cli.train import train_options

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shortened = code.replace("steps=5000", "steps=20")
    assert shortened != code
    exec(shortened, {})
    assert "by chance" in capsys.readouterr().out


def test_the_commands_exist():
    commands = re.findall(r"^    unpick (\w+) ([^#\n]*)", README, re.MULTILINE)
    assert len(commands) >= 5
    for verb, arguments in commands:
        assert f"\n  {verb}" in HELP
        if verb == "train":
            train_options(arguments.split())
