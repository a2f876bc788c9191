"""The forecasts that the study `forecast` is held against.

Writes src/unpick/papers/across/forecast/foretold.json; names of rows as arguments make those
again. Forecasts are made before a model of their row is trained, and stay as they were made: an
entry has its date.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from unpick.forecasting import forecast
from unpick.papers.across import forecast as study
from unpick.papers.across.forecast.cells import DATA

REPEATS = 5  # choices of the points, on what is compared with its twins
KEPT = ("factors", "pairs", "dto", "one_step_dto", "chance", "betas", "prediction", "order")


def foretell(row):
    """The forecast of a data set, and how much it varies with the points."""
    dataset = DATA[row].load()
    found = forecast(dataset, show=False).to_dict()
    kept = {name: found[name] for name in KEPT}
    if row.split(",")[0] in ("sprites", "rooms") and "rows" not in row:
        again = [forecast(dataset, show=False, seed=k) for k in range(REPEATS)]
        kept["repeats"] = {
            "ideal_mig": [each.prediction.ideal_mig for each in again],
            "ideal_dto": [each.prediction.ideal_dto for each in again],
            "confusion": [sum(p.confusion for p in f.pairs) / len(f.pairs) for f in again],
        }
    return {"date": datetime.now(UTC).isoformat(timespec="minutes"), **kept}


def main():
    file = Path(study.__file__).with_name("foretold.json")
    made = json.loads(file.read_text()) if file.exists() else {}
    for row in sys.argv[1:] or DATA:
        made[row] = foretell(row)
        print(row, made[row]["prediction"])
        file.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
