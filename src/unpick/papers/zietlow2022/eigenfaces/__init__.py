"""Figure 3.6: eigenfaces and latent traversals."""
