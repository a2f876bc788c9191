"""`unpick forecast`."""

import json
import shlex
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Literal

from unpick.arguments import Arguments, fail, parse, write


@dataclass(frozen=True)
class ForecastOptions:
    """What to look at; the options of the data set follow.

    Attributes:
        likelihood: What reconstruction is measured by; auto is bernoulli for images in [0, 1].
        periodic: Factors that return to their start, separated by commas.
        categorical: Factors whose values have no order, separated by commas.
        jacobians: At how many observations local directions are taken.
        perturbed: The perturbed twin of the data set in this folder.
        noisy: The noisy twin, whose pixels have fixed noise of at most this size.
        json: Print JSON in place of words.
        report: The folder of the page and its pictures; none by default.
    """

    likelihood: Literal["auto", "gaussian", "bernoulli"] = "auto"
    periodic: str = ""
    categorical: str = ""
    jacobians: int = 200
    perturbed: str = ""
    noisy: float = 0.0
    json: bool = False
    report: str = ""


def forecast(arguments: Arguments) -> None:
    """Foretell from the data alone which factors a VAE will mix."""
    if not arguments or arguments[0].startswith("-"):
        write(FORECAST_HELP)
        if {"-h", "--help"} & {*arguments}:
            return
        fail("forecast: of which data? `unpick forecast sprites --size 32`, for example")
    from unpick.cli.own import pick_dataset
    from unpick.data import DATASETS, own_data, select_twin
    from unpick.data.own import is_own, names_in
    from unpick.forecasting import forecast as foretell

    name, rest = arguments[0], arguments[1:]
    own = name not in DATASETS and is_own(name)
    chosen = own_data(name) if own else pick_dataset(name)()
    whole = make_dataclass("Forecast", [("options", ForecastOptions), ("data", type(chosen))])
    default = whole(ForecastOptions(), chosen)
    parsed = parse(whole, rest, f"unpick forecast {name}", default=default)
    options = parsed.options
    if options.jacobians < 2:
        raise ValueError(f"jacobians must be at least 2, got {options.jacobians}")
    found = foretell(
        select_twin(parsed.data, options.perturbed, options.noisy).load(),
        likelihood=options.likelihood,
        periodic=names_in(options.periodic),
        categorical=names_in(options.categorical),
        points=options.jacobians,
        report=Path(options.report) if options.report else None,
        show=not options.json,
        command=shlex.join(["unpick", "forecast", *arguments]),
    )
    if options.json:
        write(json.dumps(found.to_dict(), indent=1))


FORECAST_HELP = """usage: unpick forecast DATA [OPTIONS]

Says, before anything is trained, which factors a VAE will give a latent of their own, which it
will mix, in which order they disappear as beta grows, and which betas to try. A VAE finds the
local principal directions of the data, so the answer lies in the data: how far and in which
direction each factor moves an observation.

  DATA                  a data set (`unpick data list`) with its own options, or your own data
                        with the options of `unpick train`: .npy, .npz, .csv, .parquet, a folder
  --factors A,B         columns of your table that are factors; without factors, local PCA
  --periodic A,B        factors that return to their start, beside those that are seen to
  --categorical A,B     factors whose values have no order, beside those known to have none
  --likelihood L        gaussian or bernoulli; by default bernoulli for images in [0, 1]
  --jacobians N         at how many observations local directions are taken (200)
  --perturbed FOLDER    the perturbed twin in this folder; --noisy EPSILON for the noisy one
  --json                numbers and words as JSON
  --report FOLDER       write a page with pictures

  unpick forecast sprites --size 32
  unpick forecast shapes3d --size 16 --report forecast
  unpick forecast sprites --size 32 --perturbed FOLDER
  unpick forecast wine.csv --factors alcohol,class --categorical class
  unpick forecast photos/ --size 64"""
