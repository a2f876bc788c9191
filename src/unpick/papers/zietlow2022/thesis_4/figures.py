"""The figures of chapter 4 of Zietlow (2022), drawn from results."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.data import DataDamaged, DataMissing, split
from unpick.papers.zietlow2022.thesis_4.cells import (
    config,
    find_longer,
    find_outcome,
    find_search,
    latents_needed,
    not_over_pruned,
)
from unpick.papers.zietlow2022.thesis_4.claims import FOUND
from unpick.papers.zietlow2022.thesis_4.planes import FACTORS as PLANES
from unpick.papers.zietlow2022.thesis_4.planes import (
    REACH,
    Plane,
    choose_restarts,
    plane,
    planes,
)
from unpick.papers.zietlow2022.thesis_4.readings import found_changes
from unpick.papers.zietlow2022.thesis_4.settings import (
    FACTORS,
    NAMES,
    SETTINGS,
    TWINS,
    VARIATIONAL,
    Data,
)
from unpick.papers.zietlow2022.thesis_4.spectra import (
    Course,
    Latents,
    Pixels,
    courses,
    latent_spectra,
    pixel_spectra,
)
from unpick.plots.comparison import ComparedValues
from unpick.plots.restart_scores import Search, factor_bars, grouped_scores, histograms, violins
from unpick.plots.twins import twin_sheet
from unpick.probe import probe_run
from unpick.study.study import Outcome, Results

SHOWN = 8  # images of a sheet
EXTREMES = 4  # restarts of figures 4.10 and 4.11


def scores(measure: str, results: Results) -> Figure | None:
    """Tables 4.2 to 4.5: every method on the original and its two twins."""
    panels: dict[str, dict[str, list[ComparedValues]]] = {}
    for data, chosen in SETTINGS[results.scale].items():
        panels[data] = {
            NAMES[method]: [
                ComparedValues(
                    twin,
                    outcome.values[measure],
                    None if printed is None else (printed.mean, printed.std),
                )
                for twin in TWINS
                if (outcome := find_outcome(results, data, twin, method))
                for printed in [outcome.cell.published.get(measure)]
            ]
            for method in chosen.methods
        }
    shown = {data: groups for data, groups in panels.items() if any(groups.values())}
    return grouped_scores(shown, measure) if shown else None


def sheet(data: Data, results: Results) -> Figure | None:
    """Figure 4.3."""
    if find_outcome(results, data, "perturbed", "beta-vae") is None:
        return None
    chosen = SETTINGS[results.scale][data]
    try:
        twin = config(data, "beta-vae", "perturbed", results.scale).data.load()
    except (DataMissing, DataDamaged):
        return None
    some = split(twin).test[:SHOWN]
    return twin_sheet(chosen.data.load().observe(some), twin.observe(some), chosen.epsilon)


def search(measure: str, results: Results) -> Figure | None:
    """Figures 4.4 to 4.7."""
    panels: dict[str, dict[str, Search]] = {}
    for data in FACTORS:
        for method in VARIATIONAL:
            before = find_outcome(results, data, "original", method)
            outcomes = find_search(results, data, method)
            if before is None or len(outcomes) < 2:
                continue
            shown = {"orig.": before} | {f"{t:g}x": o for t, o in outcomes.items()}
            kept = {
                name: not_over_pruned(o, latents_needed(before, data)) for name, o in shown.items()
            }
            scored = {name: o.values[measure][kept[name]] for name, o in shown.items()}
            panels.setdefault(data, {})[NAMES[method]] = Search(
                scored.pop("orig."),
                scored,
                {name: int((~mask).sum()) for name, mask in kept.items()},
            )
    return violins(panels, measure) if panels else None


def restarts(results: Results) -> Figure | None:
    """Figure 4.8."""
    panels: dict[str, dict[str, dict[str, Float[np.ndarray, "_"]]]] = {}
    for data in FACTORS:
        for method in VARIATIONAL:
            for twin in ("original", "perturbed"):
                if outcome := find_outcome(results, data, twin, method):
                    methods = panels.setdefault(data, {}).setdefault(NAMES[method], {})
                    methods[twin] = outcome.values["MIG"]
    return histograms(panels, "MIG") if panels else None


def _twins(results: Results, data: Data) -> dict[str, Outcome]:
    """Outcomes of the beta-VAE, by twin."""
    outcomes = {twin: find_outcome(results, data, twin, "beta-vae") for twin in TWINS}
    return {twin: outcome for twin, outcome in outcomes.items() if outcome is not None}


def _table(outcome: Outcome, names: Sequence[str]) -> Float[np.ndarray, "s n"]:
    return np.stack([outcome.values[name] for name in names], axis=1)


def per_factor(results: Results) -> Figure | None:
    """Figure 4.9."""
    panels: dict[str, dict[str, Float[np.ndarray, "_ _"]]] = {}
    factors: dict[str, list[str]] = {}
    for data in FACTORS:
        outcomes = _twins(results, data)
        if outcomes:
            names = [n for n in next(iter(outcomes.values())).values if n.startswith("MIG, ")]
            factors[data] = [name.removeprefix("MIG, ") for name in names]
            panels[data] = {twin: _table(outcome, names) for twin, outcome in outcomes.items()}
    return factor_bars(panels, factors, "MIG") if panels else None


def traversals(data: Data, results: Results) -> Figure | None:
    """Figures 4.10 and 4.11."""
    outcome = find_outcome(results, data, "original", "beta-vae")
    if outcome is None or len(outcome.runs) < 2:
        return None
    first, second, instead = PLANES[data]
    if f"MIG, {second}" in outcome.values and outcome.mean(f"MIG, {second}") < FOUND:
        second = instead
    rings = outcome.values.get(f"ring, {first}")
    dataset = outcome.cell.config.data.load()

    def drawn(kind: str, k: int) -> tuple[str, Plane]:
        run = outcome.runs[k]
        drawing = plane(probe_run(run, dataset), (first, second), polar=kind == "ring")
        title = f"seed {run.config.seed}, MIG {outcome.values['MIG'][k]:.2f}"
        title += "" if rings is None else f", ring {rings[k]:.2f}"
        return f"{title}\nlatents {drawing.label}", drawing

    groups = {
        kind: {title: p.images for title, p in (drawn(kind, k) for k in places)}
        for kind, places in choose_restarts(outcome.values["MIG"], rings, EXTREMES).items()
    }
    labels = dict.fromkeys(groups, (f"latent of {first}", f"latent of {second}"))
    labels["ring"] = (f"latent of {first}", f"other latent of {first}")
    return planes(groups, labels, REACH)


def latents(results: Results) -> Figure | None:
    """DtO and posterior deviations of the beta-VAE, before and after."""
    panels: dict[str, dict[str, Latents]] = {}
    for data in FACTORS:
        sigmas = [f"sigma {j}" for j in range(1, FACTORS[data] + 1)]
        panels[data] = {
            twin: Latents(outcome.values["DtO / chance"], _table(outcome, sigmas))
            for twin, outcome in _twins(results, data).items()
            if "DtO / chance" in outcome.values
        }
    shown = {data: kinds for data, kinds in panels.items() if kinds}
    return latent_spectra(shown) if shown else None


def over_steps(results: Results) -> Figure | None:
    """MIG and DtO of the beta-VAE after the steps of the tables and after more."""
    panels: dict[str, dict[str, Course]] = {}
    for data, chosen in SETTINGS[results.scale].items():
        for twin in ("original", "perturbed"):
            found = {1: find_outcome(results, data, twin, "beta-vae")} | {
                times: find_longer(results, data, twin, times) for times in chosen.longer
            }
            outcomes = {
                t: o for t, o in found.items() if o is not None and "DtO / chance" in o.values
            }
            if len(outcomes) < 2:
                continue
            seeds = min(len(outcome.runs) for outcome in outcomes.values())
            panels.setdefault(data, {})[twin] = Course(
                np.array([outcome.cell.config.steps for outcome in outcomes.values()]),
                *(
                    np.stack([outcome.values[name][:seeds] for outcome in outcomes.values()])
                    for name in ("MIG", "DtO / chance")
                ),
            )
    return courses(panels) if panels else None


def pixels(results: Results) -> Figure | None:
    """Principal components of the data, and reconstruction errors."""
    panels: dict[str, Pixels] = {}
    for data, chosen in SETTINGS[results.scale].items():
        if len(_twins(results, data)) < len(TWINS):
            continue
        changes = found_changes(results, data)
        errors: dict[str, dict[str, Float[np.ndarray, "_"]]] = {}
        for method in chosen.methods:
            for twin in TWINS:
                outcome = find_outcome(results, data, twin, method)
                if outcome is not None and "error" in outcome.values:
                    errors.setdefault(NAMES[method], {})[twin] = outcome.values["error"]
        panels[data] = Pixels(
            {twin: changes[twin].variances for twin in TWINS if twin in changes}, errors
        )
    return pixel_spectra(panels) if panels else None
