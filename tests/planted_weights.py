"""Plant weights in the folder of a finished run."""

from unpick.runs.disk import read_config, save_results, save_weights


def finish(path, weights, results):
    """Write weights and results of one's own into a run's folder, with their digests."""
    plain = {name: value for name, value in results.items() if name not in ("digest", "files")}
    plain["weights_sha256"] = save_weights(path, weights)
    save_results(path, read_config(path), plain)
