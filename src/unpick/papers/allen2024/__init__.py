"""Allen (2024): studies and ledger."""

from unpick.papers.allen2024.beta import study as beta
from unpick.papers.allen2024.ledger import ENTRIES
from unpick.papers.allen2024.pushforward import study as pushforward
from unpick.study import Study

__all__ = ["ENTRIES", "STUDIES"]

STUDIES: tuple[Study, ...] = (
    beta.STUDY,
    pushforward.STUDY,
)
