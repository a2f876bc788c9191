"""Whether a twin can mislead, by the report of how it was made."""

from collections.abc import Mapping
from typing import Any

CONSTANT = 0.01  # share of the change that must differ between images


def find_weaknesses(report: Mapping[str, Any], *, measured: bool = False) -> list[str]:
    """Reasons to expect that a twin misleads nobody, a sentence each; none if it should mislead.

    Args:
        report: As `unpick.perturb.perturb` writes it to twin.json.
        measured: Whether models were seen to be misled by it. Then over-pruned restarts, which
            make that doubtful, are no reason any more.
    """
    before, after = (advantage(report[when]) for when in ("before", "after"))
    reasons = []
    if after <= before:
        reasons.append(
            "the change does not favour the entangled models: by their loss they were ahead by "
            f"{before:.4g} on original images and are by {after:.4g} on changed ones"
        )
    if report["varying"] < CONSTANT:
        reasons.append(
            f"only {report['varying']:.1%} of the change differs between images, and decoders "
            "adapt to one pattern on all"
        )
    candidates = report["candidates"]
    if all(each["over_pruned"] for each in candidates) and not measured:
        reasons.append(
            f"all {len(candidates)} restarts are over-pruned: they use fewer latents than there "
            "are factors, so the change was trained against models that miss some; `unpick stress "
            "beta-vae --perturbed FOLDER` measures what it does, a smaller --beta or more --steps "
            "may help"
        )
    return reasons


def advantage(losses: Mapping[str, float]) -> float:
    """By how much the loss of the entangled models is below that of the disentangled ones."""
    return losses["disentangled"] - losses["entangled"]
