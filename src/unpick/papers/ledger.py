"""The ledger: the entries of all papers, their order, and their figures."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from unpick.names import pick
from unpick.papers import allen2024, bhowal2024, zietlow2022
from unpick.papers.across import ledger as across
from unpick.papers.allen2024.ledger import figures as allen
from unpick.papers.zietlow2022.ledger import figures as zietlow
from unpick.study.ledger.entry import Entry, Judgement, judge

PAPERS = {
    "Z": "Zietlow (2022), Rolinek et al. (2019)",
    "B": "Bhowal et al. (2024)",
    "A": "Allen (2024)",
}
KINDS = "TCPLRXES"  # theorems and corollaries first


def ledger(
    ids: Sequence[str] = (), on_progress: Callable[[str], object] = lambda text: None
) -> tuple[Judgement, ...]:
    """Check the claims with these ids, or all claims.

    Args:
        ids: Such as `Z-P5`, in any case.
        on_progress: Called with each id before its check.

    Example:
        >>> [judgement.word for judgement in ledger(["z-l1"])]
        ['holds']
    """
    if isinstance(ids, str):
        raise ValueError(f"ids must be a list of ids, got the text {ids!r}")
    chosen = [pick(LEDGER, name.upper(), "claim") for name in ids] or LEDGER.values()
    judgements = []
    for entry in chosen:
        on_progress(entry.id)
        judgements.append(judge(entry))
    return tuple(judgements)


def _place(entry: Entry[Any]) -> tuple[int, int, list[int]]:
    """Where an entry stands: by paper, by kind, by number."""
    initial, rest = entry.id.split("-")
    numbers = [int(number) for number in re.findall(r"\d+", rest)]
    return list(PAPERS).index(initial), KINDS.index(rest[0]), numbers


ENTRIES = (*zietlow2022.ENTRIES, *bhowal2024.ENTRIES, *allen2024.ENTRIES)
LEDGER: dict[str, Entry[Any]] = {entry.id: entry for entry in sorted(ENTRIES, key=_place)}
DRAWINGS = (*zietlow.DRAWINGS, *allen.DRAWINGS, *across.DRAWINGS)
