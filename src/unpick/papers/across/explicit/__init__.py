"""Alignment on purpose against alignment by noise."""
