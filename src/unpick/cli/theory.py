"""`unpick theory`."""

from dataclasses import dataclass

from unpick.arguments import Arguments, fail, parse, write


@dataclass(frozen=True)
class TheoryOptions:
    """What to print.

    Attributes:
        json: Print JSON, with the evidence of every claim, in place of a table.
    """

    json: bool = False


def theory(arguments: Arguments) -> None:
    """Check every theorem, proposition and lemma of the papers, and print the verdicts."""
    if {"-h", "--help"} & {*arguments}:
        write(THEORY_HELP)
        return
    words = [word for word in arguments if not word.startswith("-")]
    options = parse(
        TheoryOptions, [word for word in arguments if word.startswith("-")], "unpick theory"
    )
    one = words[:1] == ["show"] or any("-" in word for word in words)
    if words == ["show"]:
        fail("theory show: which claim? `unpick theory show Z-T1`; `unpick theory` lists them")
    ids = [word for word in words if word != "show"]
    import json as notation

    from rich.console import Console

    from unpick.papers.ledger import LEDGER, ledger
    from unpick.report.ledger import ledger_document, show_entry, show_ledger
    from unpick.training.progress import status_line

    with status_line() as show:
        papers = set() if one else _check_papers(ids)
        whole = ids if one else [name for name in LEDGER if not ids or name[0] in papers]
        judgements = ledger(whole, lambda name: show(f"checking {name}"))
    if options.json:
        write(notation.dumps(ledger_document(judgements), indent=1, ensure_ascii=False))
    elif one:
        for judgement in judgements:
            show_entry(judgement, Console())
    else:
        show_ledger(judgements, Console())


def _check_papers(words: Arguments) -> set[str]:
    """The initials of the given papers; an unknown one raises."""
    from unpick.names import pick
    from unpick.papers.ledger import PAPERS

    for word in words:
        pick(PAPERS, word.upper(), "paper")
    return {word.upper() for word in words}


THEORY_HELP = """usage: unpick theory [PAPER ...] [--json]
       unpick theory show ID [ID ...] [--json]

Checks every numbered claim of the papers numerically and prints the ledger: what each says, and
whether it holds, holds after a correction, holds approximately or does not follow as printed. Each
check compares the claim with a search, drawn noise, quadrature or derivatives, never with itself.

  PAPER     Z (Zietlow 2022 and Rolinek et al. 2019), B (Bhowal et al. 2024), A (Allen 2024)
  show ID   one claim with its assumptions, evidence, counterexample and correction
  --json    the same as JSON

  unpick theory
  unpick theory show Z-T1 A-T4"""
