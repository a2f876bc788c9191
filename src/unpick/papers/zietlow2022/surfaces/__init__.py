"""Figures 2.1 to 2.3: coordinate surfaces of PCA and autoencoders."""
