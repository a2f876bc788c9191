"""The methods that the study compares."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from unpick.models.posterior import Family
from unpick.objectives import AE, BetaVAE, BudgetAE, DeterministicVAE, ImaAE, ObjectiveConfig
from unpick.training import RunConfig


@dataclass(frozen=True)
class Method:
    """How a method departs from the set-up of the data.

    Attributes:
        kind: The objective, but for its weight.
        posterior: Of the encoder.
        penalised: Whether there is a penalty on the cosines between columns.
    """

    kind: ObjectiveConfig
    posterior: Family = "delta"
    penalised: bool = False

    def config(self, base: RunConfig, beta: float, gamma: float, jacobians: int) -> RunConfig:
        """The run of one seed.

        Args:
            base: Data, networks, optimiser and length.
            beta: Weight of the KL, with noise and without.
            gamma: Weight of the penalties.
            jacobians: Observations of a batch at which the decoder is linearised.
        """
        objective = self.kind
        match objective:
            case BetaVAE():
                objective = replace(objective, beta=beta)
            case DeterministicVAE():
                objective = replace(objective, beta=beta, jacobians=jacobians)
            case BudgetAE() | ImaAE():
                objective = replace(objective, gamma=gamma, jacobians=jacobians)
        model = replace(base.model, posterior=self.posterior)
        penalty = gamma if self.penalised else 0.0
        return replace(base, model=model, objective=objective, orthogonality=penalty)


EXACT = "deterministic, exact"
METHODS: Mapping[str, Method] = {
    "AE": Method(AE()),
    "beta-VAE": Method(BetaVAE(), "diagonal"),
    "full covariance": Method(BetaVAE(), "full"),
    "full, penalised": Method(BetaVAE(), "full", penalised=True),
    "deterministic": Method(DeterministicVAE()),
    EXACT: Method(DeterministicVAE(hessian="exact")),
    "deterministic, full": Method(DeterministicVAE(covariance="full")),
    "budget AE": Method(BudgetAE()),
    "IMA AE": Method(ImaAE()),
}
# They should find the axes of a beta-VAE: by a term of their own that knows the scale of codes.
ALIGNING = ("full, penalised", "deterministic", "budget AE")
