"""`unpick report`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unpick.arguments import Arguments, fail, parse, write


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
    """Write a site with the tables and figures of every study that was run, and the ledger."""
    options = parse(ReportOptions, arguments, "unpick report")
    from rich.console import Console

    from unpick.papers import STUDIES
    from unpick.papers.ledger import ledger
    from unpick.report.ledger_page import write_ledger_markdown
    from unpick.report.markdown import runs_of_page, write_markdown
    from unpick.report.site import write_site
    from unpick.report.stored import judge_page
    from unpick.report.study import distinct
    from unpick.study import SCALES, Results, Scale, Study, collect
    from unpick.study.running import finished

    def has_runs(study: Study, scale: Scale) -> bool:
        return any(finished(cell, options.runs, 1) for cell in study.cells(scale))

    def runs(results: Results) -> int:
        return sum(len(outcome.runs) for outcome in results.outcomes)

    found: list[Results] = []
    kept: list[str] = []
    with Console(stderr=True).status("looking for runs") as status:
        read = partial(collect, root=options.runs, on_progress=status.update)
        trained = {
            name: distinct([read(study, scale) for scale in SCALES if has_runs(study, scale)])
            for name, study in STUDIES.items()
            if any(study.cells(scale) for scale in SCALES)
        }
        if not any(trained.values()):
            fail(f"no finished runs of a study in {options.runs}; first `unpick study NAME`")
        for name, study in STUDIES.items():
            found += trained[name] if name in trained else [read(study, "quick")]
        judgements = ledger(on_progress=lambda name: status.update(f"checking {name}"))
        status.update("writing pages")
        page = write_site(found, options.report, judgements)
        if options.markdown is not None:
            fullest = {each.study.name: each for each in sorted(found, key=runs)}
            for name, results in fullest.items():
                if runs(results) < runs_of_page(options.markdown, name):
                    status.update(f"judging {name}.md")
                    judge_page(results.study, options.markdown, options.runs)
                    kept.append(f"{name}.md")
                    continue
                status.update(f"writing {name}.md")
                write_markdown(results, options.markdown)
            write_ledger_markdown(judgements, options.markdown)
    write(f"report: {page}")
    if options.markdown is not None:
        write(f"Markdown: {options.markdown}")
    if kept:
        write(f"judged again, made of more runs than are in {options.runs}: {', '.join(kept)}")
