"""The loss and the gradients that are written out, as autograd gives them."""

import torch

from unpick.training.explicit import WrittenOut, features_first


def loss_and_gradients(model, objective, x, noise):
    """The terms of each member, and gradients in the order of the model's parameters."""
    written_out = WrittenOut(model, objective, x.shape[1])
    terms = written_out.step(features_first(x.flatten(2)), features_first(noise))
    return {name: torch.from_numpy(value) for name, value in terms.items()}, written_out.gradients
