"""Theorem 2: the decoded prior."""
