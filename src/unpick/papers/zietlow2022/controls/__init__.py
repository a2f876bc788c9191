"""Whether a full covariance leaves the latent axes open, with controls."""
