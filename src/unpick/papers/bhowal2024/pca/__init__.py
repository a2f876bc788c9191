"""Table 7: principal axes."""
