"""The quantities of all papers on the same models."""
