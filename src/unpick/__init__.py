"""unpick shows why a variational autoencoder disentangles, and when it will not."""

__version__ = "0.1.0"
