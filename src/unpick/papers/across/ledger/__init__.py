"""The ledger across papers."""
