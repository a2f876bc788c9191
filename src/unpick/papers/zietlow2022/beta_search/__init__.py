"""Figure 3.7: a line search over beta."""
