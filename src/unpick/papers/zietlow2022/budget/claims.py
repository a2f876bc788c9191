"""What Rolinek et al. (2019) and Zietlow (2022) say about the precision budget, as predicates."""

from math import exp

import numpy as np

from unpick.papers.zietlow2022.budget.readings import SHOWN, Family
from unpick.papers.zietlow2022.ledger.budget import EXAMPLE, compare_costs
from unpick.study.study import Results, Verdict
from unpick.theory.columns import column_product


def expected_cost(results: Results) -> Verdict:
    """Drawn noise costs what the formula says, to 2 %."""
    ratio = max(results.computed["noise costs"]["ratios"], key=lambda r: abs(r - 1))
    evidence = f"200 000 draws at three settings: at most {abs(ratio - 1):.1%} off"
    return Verdict(abs(ratio - 1) < 0.02, evidence)


def minimum(exponent: float, results: Results) -> Verdict:
    """The least cost of both decoders is 2 prod |column| e^(-exponent C)."""
    costs = [tuple(each) for each in results.computed["least costs"]["example"]]
    found = compare_costs(costs, lambda product, c: 2 * product * exp(-exponent * c))
    return Verdict(found.holds, found.text)


def twice_as_high(results: Results) -> Verdict:
    """The least cost of M_2 is more than twice that of M_1."""
    first, second = results.computed["least costs"]["shown"]
    evidence = f"searched minima at C = {SHOWN:g}: {second:.3f} / {first:.3f} = "
    return Verdict(second > 2 * first, f"{evidence}{second / first:.2f}")


def inverse_to_columns(results: Results) -> Verdict:
    """Variance times squared length is the same for all columns, to 1 %."""
    found = results.computed["cheapest variances"]
    evidence = f"the example's ratio of variances {found['ratio']:.4f}, 3/50 = 0.06; 50 random "
    evidence += f"decoders: variance x squared length differs by {found['spread']:.1%} at most"
    return Verdict(found["spread"] < 0.01, evidence)


def columns_exceed_volume(results: Results) -> Verdict:
    """Column products exceed the volume; those of orthogonal columns equal it."""
    excess, most = (results.computed["volumes"][name] for name in ("excess", "difference"))
    evidence = f"50 random decoders exceed it by {min(excess):.2%} to {max(excess):.0%}; turned "
    evidence += f"to orthogonal columns they differ from it by {max(most):.0e}"
    return Verdict(min(excess) > 0 and max(most) < 1e-9, evidence)


def best_angle(results: Results) -> Verdict:
    """At the angle with the least column product, columns are orthogonal."""
    found = results.computed["best turn"]
    product, cosine, volume = found["product"], found["cosine"], found["volume"]
    evidence = f"least product {product:.3f} at {found['angle']:.2f} degrees, where columns have "
    evidence += f"the cosine {cosine:.0e}; singular values multiply to {volume:.3f}; "
    evidence += f"as printed, at 0 degrees, it is {column_product(EXAMPLE):.3f}"
    return Verdict(abs(product / volume - 1) < 1e-4 and cosine < 1e-3, evidence)


def kl_minimum(results: Results) -> Verdict:
    """Searches from random starts end at mean 0 and variance 1, where the KL is 0."""
    off, kl = (results.computed["least kl"][name] for name in ("off", "kl"))
    evidence = f"ten searches end within {off:.0e} of mean 0 and log variance 0; KL there {kl:.0e}"
    return Verdict(off < 1e-3 and abs(kl) < 1e-12, evidence)


def price_of_information(results: Results) -> Verdict:
    """Where codes fill the prior, the KL is half the logarithm of the precision."""
    difference = results.computed["kl of precision"]["difference"]
    evidence = f"largest difference {difference:.0e} nats over variances from 1 to {exp(-6):.4f}"
    return Verdict(difference < 1e-9, evidence)


def symmetry(family: Family, results: Results) -> Verdict:
    """Best loss over angles: constant for `full`; least at the singular directions otherwise."""
    angles, losses = (np.array(results.computed[family][name]) for name in ("angles", "losses"))
    varies = float(np.ptp(losses) / losses.mean())
    evidence = f"searched best loss at {len(angles)} angles: {losses.min():.4f} to "
    evidence += f"{losses.max():.4f}, least at {angles[losses.argmin()]:.1f} degrees"
    if family == "full":
        return Verdict(varies < 1e-5, evidence.split(", least")[0])
    return Verdict(bool(losses.argmin() == 0 and varies > 0.01), evidence)
