"""`unpick completion`: a script with which the shell completes commands, names and options."""

import types
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from unpick.arguments import ALIASES, Arguments, fail, write
from unpick.names import pick

SHELLS = {"bash": "", "zsh": "autoload -U +X bashcompinit && bashcompinit\n"}


def completion(arguments: Arguments) -> None:
    """Print a script for shell completion: eval "$(unpick completion bash)"."""
    if {"-h", "--help"} & {*arguments}:
        write(COMPLETION_HELP)
        return
    if len(arguments) != 1:
        fail(f"completion: for which shell? {' or '.join(SHELLS)}")
    header = pick(SHELLS, arguments[0], "shell")
    cases = "\n".join(
        f'    {verb}) words="{" ".join(words)}" ;;' for verb, words in words_of_verbs().items()
    )
    write(header + SCRIPT.format(verbs=" ".join(words_of_verbs()), cases=cases))


def words_of_verbs() -> dict[str, list[str]]:
    """What can follow each command: names first, then options."""
    from unpick.cli.data import DATA_VERBS
    from unpick.cli.diagnose import DiagnoseOptions
    from unpick.cli.explore import ExploreOptions
    from unpick.cli.forecast import ForecastOptions
    from unpick.cli.measure import MeasureOptions
    from unpick.cli.perturb import PerturbOptions
    from unpick.cli.report import ReportOptions
    from unpick.cli.select import SelectOptions
    from unpick.cli.stress import FitOptions, StressOptions
    from unpick.cli.study import StudiesOptions, StudyOptions
    from unpick.cli.theory import TheoryOptions
    from unpick.cli.train import TrainOptions
    from unpick.data import DATASETS
    from unpick.objectives import OBJECTIVES
    from unpick.papers import STUDIES
    from unpick.probe.card import CardOptions
    from unpick.training import RunConfig

    sets, objectives, studies = [*DATASETS], [*OBJECTIVES], [*STUDIES]
    of_a_run = [*flags(RunConfig), *ALIASES, "--epochs"]
    return {
        "train": [*sets, *objectives, *flags(TrainOptions), *of_a_run],
        "measure": flags(MeasureOptions, CardOptions),
        "diagnose": flags(DiagnoseOptions),
        "forecast": [*sets, *flags(ForecastOptions)],
        "select": flags(SelectOptions),
        "explore": flags(ExploreOptions),
        "studies": flags(StudiesOptions),
        "study": [*studies, *flags(StudyOptions)],
        "theory": ["show", *flags(TheoryOptions)],
        "perturb": [*sets, "--recipe", *flags(PerturbOptions), *of_a_run],
        "stress": [*objectives, *flags(StressOptions, FitOptions), *of_a_run],
        "report": [*studies, "ledger", "all", *flags(ReportOptions)],
        "data": [*DATA_VERBS, *sets],
        "demo": ["--report", "--runs"],
        "completion": [*SHELLS],
    }


def flags(*kinds: Any) -> list[str]:  # noqa: ANN401
    """The options of dataclasses, of the dataclasses in their fields, and of every alternative.

    Twins are left out: their folder or noise is an option of the command.

    Example:
        >>> from unpick.cli.report import ReportOptions
        >>> flags(ReportOptions)
        ['--markdown', '--report', '--runs']
    """
    return sorted({flag for kind in kinds for flag in _flags(kind)})


def _flags(kind: Any) -> Iterable[str]:  # noqa: ANN401
    from tyro.conf import Suppress

    from unpick.data import Noisy, Perturbed

    hints = get_type_hints(kind, include_extras=True)
    for entry in fields(kind):
        hint = hints[entry.name]
        if Suppress in getattr(hint, "__metadata__", ()):
            continue
        unions = get_origin(hint) in (Union, types.UnionType)
        inner = [each for each in (get_args(hint) if unions else (hint,)) if is_dataclass(each)]
        for each in inner:
            if each not in (Noisy, Perturbed):
                yield from _flags(each)
        if not inner:
            name = entry.name.replace("_", "-")
            yield f"--{name}"
            if hint is bool:
                yield f"--no-{name}"


SCRIPT = """_unpick() {{
  local words="{verbs}" here="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$here") )
}}
complete -o default -F _unpick unpick"""

COMPLETION_HELP = """usage: unpick completion bash|zsh

Prints a script that completes commands, data sets, objectives, studies, options and files. For
this shell, or in ~/.bashrc or ~/.zshrc for every one:

  eval "$(unpick completion bash)"

It takes two seconds. To start shells faster, write the script to a file once and source that."""
