"""`unpick report`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from unpick.arguments import Arguments, fail, parse, write
from unpick.names import pick

if TYPE_CHECKING:
    from unpick.study import Results, Scale


@dataclass(frozen=True)
class ReportOptions:
    """Where runs are read and pages are written.

    Attributes:
        runs: The folder of run folders.
        report: The folder of the site.
        markdown: Also write Markdown into this folder, for each study at the scale with the most
            runs. A page that was made of more runs than are here keeps its numbers and figures;
            its claims are judged again.
    """

    runs: Path = Path("runs")
    report: Path = Path("report")
    markdown: Path | None = None


def report(arguments: Arguments) -> None:
    """Write a site with the tables and figures of the studies that were run, or of those named."""
    if {"-h", "--help"} & {*arguments}:
        write(REPORT_HELP)
        return
    cut = next((k for k, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = arguments[:cut], parse(ReportOptions, arguments[cut:], "unpick report")
    from unpick.papers import STUDIES
    from unpick.papers.ledger import ledger
    from unpick.report.ledger_page import write_ledger_markdown
    from unpick.report.markdown import runs_of_page, write_markdown
    from unpick.report.site import write_site
    from unpick.report.stored import judge_page
    from unpick.report.study import distinct
    from unpick.study import collect
    from unpick.training.progress import status_line

    def runs(results: "Results") -> int:
        return sum(len(outcome.runs) for outcome in results.outcomes)

    for name in names:
        pick({**STUDIES, "ledger": None, "all": None}, name, "study")
    kept: list[str] = []
    with status_line("looking for runs") as show:
        read = partial(collect, root=options.runs, on_progress=show)
        found: list[Results] = []
        for name, scales in find_studies(names, options.runs).items():
            all_scales = [read(STUDIES[name], scale) for scale in scales]
            found += distinct(all_scales) if STUDIES[name].cells(scales[0]) else all_scales
        checked = {"ledger", "all"} & {*names}
        judgements = ledger(on_progress=lambda name: show(f"checking {name}")) if checked else ()
        show("writing pages")
        page = write_site(found, options.report, judgements)
        if options.markdown is not None:
            fullest = {each.study.name: each for each in sorted(found, key=runs)}
            for name, results in fullest.items():
                if runs(results) < runs_of_page(options.markdown, name):
                    show(f"judging {name}.md")
                    judge_page(results.study, options.markdown, options.runs)
                    kept.append(f"{name}.md")
                    continue
                show(f"writing {name}.md")
                write_markdown(results, options.markdown)
            if judgements:
                write_ledger_markdown(judgements, options.markdown)
    write(f"report: {page}")
    if options.markdown is not None:
        write(f"Markdown: {options.markdown}")
    if kept:
        write(f"judged again, made of more runs than are in {options.runs}: {', '.join(kept)}")


def find_studies(names: Iterable[str], root: Path) -> "dict[str, list[Scale]]":
    """The studies to show, each at the scales that have runs; fails if there is none.

    Args:
        names: Of studies. `all` are those with runs and those that need none. Without names,
            those that were run: a study that only shares runs with one of them is left out.
        root: The folder of run folders.
    """
    from unpick.papers import STUDIES
    from unpick.report.study import own_studies
    from unpick.study import SCALES
    from unpick.study.running import computed_files, finished

    paths = {
        (name, scale): [{run.path for run in finished(cell, root)} for cell in study.cells(scale)]
        for name, study in STUDIES.items()
        for scale in SCALES
    }
    with_runs = {key: cells for key, cells in paths.items() if any(cells)}
    wanted = {*names}
    found: dict[str, list[Scale]] = {}
    for name, scale in with_runs if wanted else own_studies(with_runs):
        if not wanted or {"all", name} & wanted:
            found.setdefault(name, []).append(scale)
    for name, study in STUDIES.items():
        if any(study.cells(scale) for scale in SCALES):
            if name in wanted - found.keys():
                fail(f"no finished runs of {name} in {root}; first `unpick study {name}`")
        elif {"all", name} & wanted or (not wanted and computed_files(study, "quick", root)):
            found[name] = ["quick"]
    if not found and "ledger" not in wanted:
        fail(f"no finished runs of a study in {root}; first `unpick study NAME`")
    return {name: found[name] for name in STUDIES if name in found}


REPORT_HELP = """usage: unpick report [NAME ...] [OPTIONS]

Writes a site of static pages: for each study its claims with verdicts, its table, its figures and
the runs behind every number. Without a NAME, of the studies that were run.

  NAME         a study (`unpick studies` lists them), `ledger` for the theorems of the papers, or
               `all` for the ledger and every study that has runs or needs none
  --runs DIR   the folder of run folders (runs)
  --report DIR the folder of the site (report)
  --markdown DIR
               also write Markdown into this folder, for each study at the scale with the most
               runs. A page that was made of more runs than are here keeps its numbers and
               figures; its claims are judged again

  unpick report
  unpick report thesis-3.3 surfaces
  unpick report all --report everything/"""
