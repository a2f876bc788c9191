"""Table 3.2: the polarized regime."""
