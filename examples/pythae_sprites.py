"""A beta-VAE trained with pythae, examined with unpick.

In an environment with both (`pip install pythae==0.1.2`, and unpick):

    python examples/pythae_sprites.py 20            # epochs; about ten minutes on one core
    unpick diagnose examples/pythae_sprites.py:load --data sprites --size 32 \
        --likelihood bernoulli --beta 3
"""

import sys
from pathlib import Path

import torch
from pythae.data.datasets import BaseDataset
from pythae.models import BetaVAE, BetaVAEConfig
from pythae.models.base.base_utils import ModelOutput
from pythae.models.nn import BaseDecoder, BaseEncoder
from pythae.trainers import BaseTrainer, BaseTrainerConfig
from torch import nn

from unpick.data import load as load_data

LATENTS, BETA, IMAGES = 8, 3.0, 20_000
WEIGHTS = Path("pythae_sprites.pt")


class Encoder(BaseEncoder):
    """Three convolutions to mean and log-variance."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU()),
            *(nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU()),
            *(nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(1024, 128), nn.ReLU()),
        )
        self.mean, self.log_var = nn.Linear(128, LATENTS), nn.Linear(128, LATENTS)

    def forward(self, x):
        """As pythae wants it."""
        h = self.layers(x)
        return ModelOutput(embedding=self.mean(h), log_covariance=self.log_var(h))


class Decoder(BaseDecoder):
    """And back."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(LATENTS, 128), nn.ReLU(), nn.Linear(128, 1024), nn.ReLU()),
            nn.Unflatten(1, (64, 4, 4)),
            *(nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU()),
            *(nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU()),
            *(nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Sigmoid()),
        )

    def forward(self, z):
        """As pythae wants it."""
        return ModelOutput(reconstruction=self.layers(z))


def build():
    """The untrained model."""
    config = BetaVAEConfig((1, 32, 32), LATENTS, reconstruction_loss="bce", beta=BETA)
    return BetaVAE(config, Encoder(), Decoder())


def train(epochs):
    """Train with pythae's own trainer and keep the weights."""
    torch.manual_seed(0)
    sprites = load_data("sprites", size=32)
    rows = torch.randperm(len(sprites))[:IMAGES]
    model = build()
    config = BaseTrainerConfig(
        output_dir="pythae_out",
        num_epochs=epochs,
        learning_rate=1e-3,
        per_device_train_batch_size=64,
        no_cuda=True,
    )
    data = BaseDataset(sprites.observe(rows), torch.zeros(IMAGES))
    BaseTrainer(model=model, train_dataset=data, training_config=config).train()
    torch.save(model.state_dict(), WEIGHTS)


def load():
    """What `unpick diagnose` asks for."""
    model = build()
    model.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    model.eval()

    def encode(x):
        out = model.encoder(x)
        return out.embedding, out.log_covariance

    return encode, lambda z: model.decoder(z).reconstruction


if __name__ == "__main__":
    train(int(sys.argv[1]))
