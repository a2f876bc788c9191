"""What each study costs: the speed of every kind of training in it, times its steps.

Writes src/unpick/papers/costs.json, which `unpick studies` prints; names of studies as arguments
measure those again. Run it on an idle machine. Entries whose data are not there are not counted.
"""

import json
import sys
import time
from pathlib import Path

import torch

import unpick.papers
from unpick.data import DataMissing, Noisy, Perturbed
from unpick.papers import STUDIES
from unpick.runs import Runner
from unpick.runs.executor import MOST_TOGETHER, trains_together
from unpick.study import SCALES
from unpick.training import Training

SECONDS = 1.5  # of training, for each kind
WORKERS = 2  # with one thread each


def pace(configs, dataset):
    """Seconds a step of these members together, on one thread."""
    training = Training(configs, dataset)
    training.advance(3)
    started, start = time.process_time(), training.step  # on one thread: company hardly matters
    while time.process_time() - started < SECONDS:
        training.advance(training.step + 5)
    return (time.process_time() - started) / (training.step - start)


def there(data, datasets):
    """Whether a data set can be had; it is kept."""
    if data not in datasets:
        # A noisy twin is read as fast as a perturbed one that is not made yet.
        twin = isinstance(data, Perturbed)
        try:
            datasets[data] = (Noisy(data.original, 0.1) if twin else data).load()
        except DataMissing as error:
            print(f"not counted: {error}")
            datasets[data] = None
    return datasets[data] is not None


def main():
    torch.set_num_threads(1)
    file = Path(unpick.papers.__file__).with_name("costs.json")
    costs = json.loads(file.read_text())["seconds"]
    datasets, paces = {}, {}
    for name in sys.argv[1:] or STUDIES:
        study = STUDIES[name]
        for scale in SCALES:
            families = {}
            for cell in study.cells(scale):
                if cell.config.steps and there(cell.config.data, datasets):
                    for config in cell.configs():
                        families.setdefault(config.family(), {})[config] = None
            seconds = longest = 0.0
            for members in map(list, families.values()):
                dataset = datasets[members[0].data]
                small = trains_together(members[0], dataset.shape, Runner())
                share = min(MOST_TOGETHER, -(-len(members) // WORKERS)) if small else 1
                network = json.dumps([members[0].family(), share])
                if network not in paces:
                    paces[network] = pace(members[:share], dataset)
                each = paces[network] * members[0].steps
                longest = max(longest, each)  # what trains together cannot be shared out
                seconds += each * len(members) / share / WORKERS
            seconds = max(seconds, longest)
            if families:
                costs.setdefault(name, {})[scale] = round(seconds)
                print(f"{name} {scale}: {seconds:.0f} s")
    file.write_text(json.dumps({"seconds": costs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
