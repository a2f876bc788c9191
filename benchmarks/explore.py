"""How fast the live page answers: one slider being dragged, and a crowd of requests.

    python benchmarks/explore.py --seconds 30

The networks have their first weights; what they have learnt makes no difference to their speed.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

from unpick.explorer import explore
from unpick.runs import Runner, make
from unpick.training import preset

DRAGS = 200  # positions of a slider, one after the other
CROWD = 200  # requests at once


def ask(url, body):
    try:
        with urllib.request.urlopen(url, body, timeout=60) as response:
            response.read()
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def crowd(url, body, seconds):
    """Milliseconds of every request of a crowd, and how many were answered and turned away."""
    times, codes = [], []
    end = time.monotonic() + seconds

    def one():
        while time.monotonic() < end:
            start = time.perf_counter()
            codes.append(ask(url, body))
            times.append(1000 * (time.perf_counter() - start))

    threads = [threading.Thread(target=one) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, codes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    base = preset("sprites", "thesis")
    models = {
        "dense, thesis": base,
        "convolutions, 64 pixels": preset("shapes3d"),
    }
    with tempfile.TemporaryDirectory() as folder:
        configs = [replace(config, steps=0) for config in models.values()]
        runs = make(configs, Runner(Path(folder), jobs=1, progress=False))
        page = explore(*[run.path for run in runs])
        for name, run in zip(models, runs, strict=True):
            latents = run.config.model.latents
            body = json.dumps({"model": run.path.name, "z": [0.1] * latents}).encode()
            url = page.url + "api/decode"
            ask(url, body)  # loads the model
            times = []
            for _ in range(DRAGS):
                start = time.perf_counter()
                ask(url, body)
                times.append(1000 * (time.perf_counter() - start))
            times.sort()
            print(
                f"{name}: a frame takes {statistics.median(times):.1f} ms, "
                f"95 % at most {times[int(0.95 * DRAGS)]:.1f} ms"
            )
        times, codes = crowd(url, body, seconds)
        times.sort()
        print(
            f"{CROWD} requests at once for {seconds:.0f} s: {codes.count(200)} answered, "
            f"{codes.count(503)} turned away, {len(codes) - codes.count(200) - codes.count(503)} "
            f"failed; median {statistics.median(times):.0f} ms, 99 % at most "
            f"{times[int(0.99 * len(times))]:.0f} ms"
        )
        page.stop()


if __name__ == "__main__":
    main()
