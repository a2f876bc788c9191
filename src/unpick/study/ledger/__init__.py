"""The ledger's machinery: an entry is a claim, a check that could fail, and a mutation of it."""

from unpick.study.ledger.entry import (
    Correction,
    Entry,
    Evidence,
    Judgement,
    Mutation,
    Word,
    judge,
)

__all__ = ["Correction", "Entry", "Evidence", "Judgement", "Mutation", "Word", "judge"]
