"""Section 3.3: what beta does."""
