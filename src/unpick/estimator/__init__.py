"""Nonlinear principal components: a scikit-learn transformer that finds beta by itself."""

from unpick.estimator.nonlinear_pca import NonlinearPCA

__all__ = ["NonlinearPCA"]
