"""NonlinearPCA beside other methods: recovery of planted factors, time and memory.

    python benchmarks/nonlinear_pca.py recovery   # writes docs/results/nonlinear-pca-benchmark.md
    python benchmarks/nonlinear_pca.py small      # 2000 x 30; on an idle machine
    python benchmarks/nonlinear_pca.py large      # 100 000 x 100

`recovery` takes the planted tables of the study `nonlinear-pca`. UMAP and pythae are columns if
they are installed (`pip install umap-learn pythae==0.1.2`, best in an environment of their own).
Each method has its defaults and the right number of components: pythae's BetaVAE trains for its
default 100 epochs, and the plain autoencoder is ours, with the network of NonlinearPCA; both get
2000 steps. `small` and `large` fit a memory-mapped table with the default settings and print
seconds and peak memory.
"""

import contextlib
import io
import json
import logging
import os
import resource
import sys
import tempfile
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from unpick import NonlinearPCA
from unpick.data import from_arrays
from unpick.data.synthetic import SynthLin
from unpick.geometry import decoder_jacobians
from unpick.models import MLP, ModelConfig
from unpick.objectives import AE
from unpick.papers.across.nonlinear_pca.readings import (
    directions_of,
    mean_angle,
    methods,
    recovery,
)
from unpick.papers.across.nonlinear_pca.tables import PLANTED, planted
from unpick.papers.across.nonlinear_pca.tabulate import spread
from unpick.training import Adam, RunConfig, train

ROWS, SEEDS, STEPS = 1000, 3, 2000
RESULTS = Path(__file__).parent.parent / "docs" / "results" / "nonlinear-pca-benchmark"


def autoencoder(x, count, seed):
    network = MLP((64, 64), "tanh", (64, 64), "tanh")
    model = ModelConfig(count, "delta", network=network)
    config = RunConfig(SynthLin(), model, AE(), Adam(3e-3), STEPS, 128, seed)
    scaled = (x - x.mean(0)) / x.std()
    ensemble = train(config, from_arrays(scaled), progress=False, device="cpu")
    with torch.no_grad():
        codes = ensemble.model.encode(torch.tensor(scaled).float()[None]).mean[0]
    return codes.numpy(), slopes(lambda z: ensemble.model.decode_mean(z[None])[0], codes)


def umap(x, count, seed):
    from umap import UMAP

    return UMAP(n_components=count, random_state=seed, n_jobs=1).fit_transform(x), None


def pythae(x, count, seed):
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaVAE, BetaVAEConfig
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    logging.disable(logging.WARNING)
    torch.manual_seed(seed)
    scaled = torch.tensor((x - x.mean(0)) / x.std()).float()
    model = BetaVAE(BetaVAEConfig(input_dim=(x.shape[1],), latent_dim=count))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        settings = BaseTrainerConfig(output_dir=folder, no_cuda=True)
        data = BaseDataset(scaled, torch.zeros(len(scaled)))
        BaseTrainer(model, data, training_config=settings).train()
    model.eval()
    with torch.no_grad():
        codes = model.encoder(scaled).embedding
    return codes.numpy(), slopes(lambda z: model.decoder(z).reconstruction, codes)


def slopes(decode, codes):
    """A decoder's directions at each row's code."""
    return decoder_jacobians(decode, codes).detach().double().numpy().transpose(0, 2, 1)


OTHERS = {"autoencoder": autoencoder, "UMAP": umap, "pythae beta-VAE": pythae}


def measure(name, seed):
    table = planted(name, ROWS, seed)
    count = table.factors.shape[1]
    model = NonlinearPCA(count, max_steps=STEPS, restarts=3, random_state=seed, device="cpu")
    model.fit(table.x)
    found = {"NonlinearPCA": (model.transform(table.x), model.local_components(table.x))}
    for method, other in methods(count, seed).items():
        found[method] = other.fit_transform(table.x), directions_of(other, table.x)
    for method, run in OTHERS.items():
        try:
            found[method] = run(table.x, count, seed)
        except ImportError as error:
            print(f"{method} left out: {error}", file=sys.stderr)
    return {
        "MCC": {
            k: recovery(codes.astype(float), table.factors) for k, (codes, _) in found.items()
        },
        "angle": {
            k: mean_angle(directions, table.directions)
            for k, (_, directions) in found.items()
            if directions is not None
        },
    }


def versions():
    found = [f"{name} {version(name)}" for name in ("scikit-learn", "torch")]
    for name in ("umap-learn", "pythae"):
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def compare():
    found = {}
    for name in PLANTED:
        found[name] = [measure(name, seed) for seed in range(SEEDS)]
        print(name, found[name], flush=True)
    lines = [
        "# NonlinearPCA beside other methods",
        "",
        f"Mean ± deviation over {SEEDS} seeds, {ROWS} rows. Every method is told the number of "
        f"components and has its defaults; NonlinearPCA and the autoencoder get {STEPS} steps, "
        f"pythae 100 epochs. Versions: {versions()}.",
        "",
        "`python benchmarks/nonlinear_pca.py recovery` writes this page; "
        "[the numbers](nonlinear-pca-benchmark.json). The tables are those of "
        "[the study](nonlinear-pca.md).",
        "",
    ]
    for key, title, digits in (
        ("MCC", "Recovery of planted factors (MCC, rank correlation)", 2),
        ("angle", "Angle between local directions and those of the factors, in degrees", 0),
    ):
        columns = list(found[PLANTED[0]][0][key])
        lines += [f"## {title}", "", "| table | " + " | ".join(columns) + " |"]
        lines.append("|---|" + "---:|" * len(columns))
        for name, rows in found.items():
            values = [[row[key][c] for row in rows] for c in columns]
            cells = [spread(v, digits) for v in values]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["Methods without a decoder have no directions."]
    RESULTS.with_suffix(".md").write_text("\n".join(lines) + "\n")
    RESULTS.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")


SIZES = {"small": (2000, 30, 5), "large": (100_000, 100, 8)}


def speed(sizes):
    """Fit a table on disk; print times, and the memory before and at most."""
    rows, columns, hidden = SIZES[sizes]
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(hidden, columns)) / np.sqrt(hidden)
    strengths = np.geomspace(2.0, 0.5, hidden)  # apart, so that components can be told apart
    with tempfile.TemporaryDirectory() as folder:
        x = np.lib.format.open_memmap(f"{folder}/x.npy", "w+", np.float32, (rows, columns))
        for start in range(0, rows, 2000):
            z = rng.normal(size=(2000, hidden)) * strengths
            x[start : start + 2000] = np.tanh(z @ weights)
            x[start : start + 2000] += 0.1 * rng.normal(size=(2000, columns))
        before, load = peak_memory(), os.getloadavg()[0]
        started, computed = time.perf_counter(), time.process_time()
        model = NonlinearPCA(random_state=0).fit(x)
        seconds, cpu = time.perf_counter() - started, time.process_time() - computed
        peak, started = peak_memory(), time.perf_counter()
        model.transform(x)
        transform = time.perf_counter() - started
    print(
        f"{rows} x {columns} ({x.nbytes / 2**20:.0f} MB): fit {seconds:.0f} s ({cpu:.0f} s of "
        f"CPU, {torch.get_num_threads()} threads, load {load:.1f} before); transform "
        f"{transform:.1f} s; {model.n_components_} components of {hidden}; memory {before:.0f} MB "
        f"before, {peak:.0f} MB at most"
    )


def peak_memory():
    """Of this process until now, in MB, with the pages of mapped files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command = sys.argv[1]
    if command == "recovery":
        with threadpool_limits(1):
            compare()
    else:
        speed(command)
