"""`unpick explore`."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unpick.arguments import Arguments, fail, parse, write


@dataclass(frozen=True)
class ExploreOptions:
    """What to explore, and how.

    Attributes:
        data: For FILE.py:function: a data set by name, or your own file or folder.
        likelihood: For FILE.py:function: what the decoder's output is the mean of.
        host: The address to bind to. With any other than this machine's own, whoever has the link
            gets in.
        port: The port; 0 takes a free one.
        report: The folder of a report (`unpick report`) to link to.
        static: Write a page that needs no server into this folder, and end.
        browser: Open a browser.
    """

    data: str = ""
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian"
    host: str = "127.0.0.1"
    port: int = 0
    report: Path | None = None
    static: Path | None = None
    browser: bool = True


def explore(arguments: Arguments) -> None:
    """Look at models in a live page: sliders, geometry, factors, training."""
    targets = []
    while arguments and not arguments[0].startswith("-"):
        targets.append(arguments.pop(0))
    if {"-h", "--help"} & {*arguments}:
        write(EXPLORE_HELP)
    options = parse(ExploreOptions, arguments, "unpick explore [RUN...]")
    if not targets:
        targets = ["runs"]
        if not Path("runs").is_dir():
            fail("explore: there is no folder runs here; name a run, a folder of runs or a model")
    subjects = [_subject(target, options) for target in targets]
    if options.static is not None:
        _write_static(subjects, options.static)
        return
    from unpick.explorer import explore as serve

    page = serve(
        *subjects,
        host=options.host,
        port=options.port,
        report=options.report,
        browser=options.browser,
    )
    write(f"explore at {page.url}\nCtrl-C ends it")
    sys.stdout.flush()
    try:
        while page.thread.is_alive():
            time.sleep(0.2)
    except KeyboardInterrupt:
        page.stop()
        write("")


def _subject(target: str, options: ExploreOptions) -> Any:  # noqa: ANN401
    """A folder as it is; FILE.py:function as a model to look at."""
    if Path(target).is_dir():
        return Path(target)
    if ":" not in target:
        fail(f"{target} is neither a folder of runs nor FILE.py:function")
    from unpick.cli.diagnose import find_data, load_model, load_test_part
    from unpick.explorer.subject import SAMPLES, subject_of_model

    given = load_model(target)
    if options.data:
        data = find_data(options.data, False).load()
        given |= load_test_part(data, SAMPLES) | {"columns": data.columns}
    if "x" not in given:
        fail(f"{target} gives no observations: pass --data NAME or --data FILE")
    subject, assumed = subject_of_model(target, **given, likelihood=options.likelihood)
    for sentence in assumed:
        write(sentence, sys.stderr)
    return subject


def _write_static(given: list[Any], folder: Path) -> None:
    from unpick.explorer.live import find_runs
    from unpick.explorer.static import write_static
    from unpick.explorer.subject import subject_of_folder

    subjects = []
    for each in given:
        if isinstance(each, Path):
            runs = find_runs([each])
            subjects += [subject_of_folder(p) for p in runs if (p / "results.json").exists()]
        else:
            subjects.append(each)
    write(f"wrote {write_static(subjects, folder)}")


EXPLORE_HELP = """usage: unpick explore [RUN... | FOLDER | FILE.py:function] [OPTIONS]

Starts a page on this machine and opens the browser: one slider a latent, geometry at the chosen
point, information about known factors, several models side by side, and training as it goes on.
Without arguments it shows the folder runs. FILE.py:function is run; it returns (encode, decode),
or with x, or x and factors, as for `unpick diagnose`.

  unpick explore                            every run in runs/, finished or in progress
  unpick explore runs/NAME other/NAME       two runs
  unpick explore my_model.py:load           your own model
  unpick explore runs/NAME --static page    one self-contained file for a static host
  ssh -L 8000:localhost:8000 HOST unpick explore --port 8000 --no-browser    from afar
"""
