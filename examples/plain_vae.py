"""A beta-VAE as one writes it by hand, and what `unpick diagnose` says about it.

    unpick diagnose examples/plain_vae.py:load

trains for a few seconds, then examines. The data are a square, stretched and turned in space; a
latent space that follows its edges is aligned.
"""

import torch
from torch import nn

from unpick.data import load as load_data

BETA, STEPS, BATCH = 0.02, 4000, 256


class PlainVAE(nn.Module):
    """Linear layers, a diagonal posterior, squared error."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 4)
        self.decoder = nn.Linear(2, 3)

    def encode(self, x):
        """Mean and log-variance."""
        return self.encoder(x).chunk(2, dim=1)

    def loss(self, x):
        """Squared error summed over coordinates, and beta times the KL."""
        mean, log_var = self.encode(x)
        z = mean + torch.exp(log_var / 2) * torch.randn_like(mean)
        error = (self.decoder(z) - x).square().sum(1)
        kl = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(1)
        return (error + BETA * kl).mean()


def load(steps=STEPS):
    """What `unpick diagnose` asks for: encode, decode, observations, factors."""
    torch.manual_seed(0)
    square = load_data("synth-lin", centred=True)
    x = square.observe(torch.arange(len(square)))
    model = PlainVAE()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(steps):
        optimiser.zero_grad()
        model.loss(x[torch.randint(len(x), (BATCH,))]).backward()
        optimiser.step()
    return model.encode, model.decoder, x[:2000], square.values[:2000]
