"""A live page where people see what a latent does: sliders, geometry, factors, training."""

from unpick.explorer.launch import Page, explore

__all__ = ["Page", "explore"]
