"""Scores of codes against generative factors: arrays in, a small frozen result out."""

from unpick.metrics.predictability import DisentanglementScore, disentanglement_score

__all__ = ["DisentanglementScore", "disentanglement_score"]
