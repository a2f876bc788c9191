"""A penalty on the angles between a decoder's columns, for any objective with a decoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.objectives.jacobian import columns, cosines, gram
from unpick.objectives.terms import Pass

POINTS = 32  # observations of a batch at which the decoder is linearised


def squared_cosines(p: Pass) -> Float[Tensor, "s b pairs"]:
    r"""\cos^2(J_i, J_j) of any two columns of the mean decoder's Jacobian at the code.

    0 if columns are orthogonal, whatever their lengths. For small angles off orthogonality half of
    their sum is the IMA contrast. With codes that a prior keeps round (a VAE of any posterior),
    orthogonal columns are the singular directions of the decoder.
    """
    found = cosines(gram(columns(p.model.decode_mean, p.q.mean[:, :POINTS])))
    d = found.shape[2]
    first, second = torch.triu_indices(d, d, offset=1, device=found.device)
    return found[:, :, first, second].square()
