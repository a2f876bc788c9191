"""The gap between the best ELBO and the log-likelihood."""
