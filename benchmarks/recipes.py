"""Record the twin of a recipe in src/unpick/perturb/recipes.json.

    unpick perturb --recipe rooms --out twin
    python benchmarks/recipes.py rooms twin

Run it when the recipe, torch or the training has changed. What the twin does to the beta-VAE
(`measured`) is kept; it comes from the study thesis-4.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

from unpick.data.twins import read_document
from unpick.perturb.recipes import RECIPES, record, shipped


def main(name, folder):
    found = record(read_document(Path(folder)))
    if found["identity"] != RECIPES[name].identity():
        sys.exit(f"{folder} is not a twin of the recipe {name}")
    place = Path(str(files("unpick.perturb"))) / "recipes.json"
    whole = shipped() | {name: found | {"measured": shipped()[name]["measured"]}}
    place.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
