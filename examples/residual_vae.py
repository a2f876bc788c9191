"""A residual convolutional VAE of your own, trained by unpick with every objective and device.

    unpick train shapes3d --size 32 --model examples/residual_vae.py:make --beta 8
    unpick measure runs/shapes3d-* --model examples/residual_vae.py:make

`make` builds the networks of ONE model. The encoder gives the parameters of the posterior, the
decoder the mean observation, or its logits for a Bernoulli likelihood.
"""

from torch import Tensor, nn


class Residual(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """X plus what the two convolutions make of it."""
        return x + self.second(self.first(x.relu()).relu())


def make(shape: tuple[int, ...], latents: int, parameters: int) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder for square images whose side is a multiple of 4."""
    channels, side = shape[0], shape[1] // 4
    down = [nn.Conv2d(channels, 32, 4, 2, 1), Residual(32), nn.Conv2d(32, 64, 4, 2, 1)]
    up = [nn.ConvTranspose2d(64, 32, 4, 2, 1), Residual(32), nn.ReLU()]
    encoder = [*down, Residual(64), nn.ReLU(), nn.Flatten(), nn.Linear(64 * side**2, parameters)]
    decoder = [nn.Linear(latents, 64 * side**2), nn.Unflatten(1, (64, side, side)), Residual(64)]
    last = nn.ConvTranspose2d(32, channels, 4, 2, 1)
    return nn.Sequential(*encoder), nn.Sequential(*decoder, nn.ReLU(), *up, last)
