"""Your own data: read once, named by their content, and the same in every process."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from sample_files import flip
from unpick.data import DataDamaged, DataMissing, OwnData, from_folder, from_table, own_data
from unpick.data.own import is_own, safe_name
from unpick.runs import disk
from unpick.training import RunConfig
from unpick.training.config import from_json, to_json
from unpick.training.presets import fit_shape


def all_of(dataset):
    return dataset.observe(torch.arange(len(dataset))).numpy()


@pytest.fixture
def table(folder, rng):
    """A csv file of twenty rows."""
    rows = [f"{a},{b},{'xyz'[k % 3]}" for k, (a, b) in enumerate(rng.normal(size=(20, 2)))]
    path = folder / "My table (1).csv"
    path.write_text("\n".join(["a,b,sort", *rows]))
    return path


def test_the_cache_stands_in_for_the_file(table):
    config = own_data(table, factors="sort")
    first = config.load()
    table.unlink()
    again = config.load()
    assert np.array_equal(all_of(first), all_of(again))
    rows = torch.arange(20)
    assert torch.equal(first.factor_values(rows), again.factor_values(rows))
    assert again.factors[0].categorical
    assert config.notes()["words"] == [["x", "y", "z"]]
    with pytest.raises(DataMissing, match=r"My table \(1\)\.csv is not there"):
        replace(config, standardise=False).load()  # not in the cache


def test_a_file_that_changed_is_refused_and_has_another_name(table):
    config = own_data(table, factors="sort")
    table.write_text(table.read_text().replace(",x", ",w"))
    with pytest.raises(DataDamaged, match=r"is not what it was: its sha256 is .*, not "):
        config.load()
    other = own_data(table, factors="sort")
    assert other.sha256 != config.sha256
    assert RunConfig(other).identity() != RunConfig(config).identity()


def test_moving_a_file_does_not_rename_runs_but_options_do(table, tmp_path):
    config = own_data(table, factors="sort")
    moved = tmp_path / table.name
    table.rename(moved)
    there = own_data(moved, factors="sort")
    assert there.path != config.path
    assert RunConfig(there).identity() == RunConfig(config).identity()
    without = replace(there, factors="", drop="sort")
    assert RunConfig(without).identity() != RunConfig(config).identity()
    assert without.name == "My-table-1"


def test_json_brings_the_configuration_back(table):
    config = RunConfig(own_data(table, factors="sort", standardise=False))
    document = json.loads(json.dumps(to_json(config)))
    assert from_json(document, RunConfig) == config


@pytest.mark.slow
def test_another_process_reads_the_cache(table):
    config = own_data(table, factors="sort")
    expected = all_of(config.load()).sum()
    table.unlink()
    code = f"import torch; from unpick.data import OwnData; d = {config!r}.load()"
    code += "; print(float(d.observe(torch.arange(20)).sum()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(float(expected), abs=1e-6)


def test_an_array_removed_from_the_cache_is_read_again(table, cache_folder):
    config = own_data(table, factors="sort")
    before = all_of(config.load())
    for file in (cache_folder / "own").glob("*.npy"):
        file.unlink()
    assert np.array_equal(all_of(config.load()), before)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.npy", {"size": 8}, "size is for folders of images, and .*x.npy is a .npy file"),
        ("x.npy", {"factors": "a"}, "factors is for tables and npz files"),
        ("x.csv", {"grey": True}, "grey is for folders of images"),
        ("x.csv", {"key": "a"}, "key is for npz files"),
        ("x", {"drop": "a"}, "drop is for tables, and .*x is a folder"),
        ("x", {"size": -1}, r"size must lie in 0\.\.4096, got -1"),
        ("x.txt", {}, r"must be a folder of images or end in \.npy, \.npz, \.csv, \.parquet"),
    ],
)
def test_options_of_another_kind_are_refused(folder, name, options, message):
    if name == "x":
        (folder / "x").mkdir()
        (folder / "x" / "a.png").write_bytes(b"")
    else:
        (folder / name).write_bytes(b"0")
    with pytest.raises(ValueError, match=message):
        own_data(folder / name, **options)


def test_names_and_checksums_from_a_run_folder_are_checked():
    good = OwnData("x.csv", "x", "csv", "0" * 64)
    for wrong in ({"name": "../x"}, {"sha256": "0"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            replace(good, **wrong)


@pytest.mark.parametrize("stem", ["a b", "ä", "..", "", "-x-", "a/b", "x" * 100])
def test_names_can_be_folders(stem):
    name = safe_name(stem)
    assert name == safe_name(name)
    assert 0 < len(name) <= 60
    assert not {*name} & {*"/ \\ä"}
    assert not name.startswith((".", "-"))


def test_what_is_missing_or_of_the_wrong_kind_is_said(table, folder):
    with pytest.raises(DataMissing, match=r"no\.csv is not there"):
        from_table(folder / "no.csv")
    with pytest.raises(ValueError, match="path must be a folder of images"):
        from_folder(table)
    np.save(folder / "x.npy", np.zeros((20, 2)))
    with pytest.raises(ValueError, match=r"table must be a \.csv or \.parquet file"):
        from_table(str(folder / "x.npy"))
    assert is_own("a/b")
    assert is_own(str(table))
    assert not is_own("sprites")


@pytest.mark.parametrize(("last", "likelihood"), [(1.0, "bernoulli"), (2.0, "gaussian")])
def test_the_likelihood_follows_from_all_values(folder, rng, last, likelihood):
    x = rng.random((600, 1, 4, 4))
    x[-1, 0, 0, 0] = last  # outside of any small sample
    np.save(folder / "x.npy", x)
    config = own_data(folder / "x.npy")
    assert fit_shape(config, config.load()).model.likelihood == likelihood


@pytest.mark.parametrize("end", [".npy", "-factors.npy", ".json"])
def test_every_file_in_the_cache_is_checked(table, cache_folder, end):
    config = own_data(table, factors="sort")
    config.load()
    (file,) = (
        f
        for f in (cache_folder / "own").glob("*")
        if f.name.endswith(end) and (end == "-factors.npy" or not f.name.endswith("-factors.npy"))
    )
    flip(file, 0.95)
    with pytest.raises(DataDamaged, match="is not what was written"):
        config.load()


def test_a_run_records_the_checksums_of_its_data(table, cache_folder, tmp_path):
    config = own_data(table, factors="sort")
    path = disk.create(fit_shape(config, config.load()), tmp_path / "runs")
    recorded = json.loads((path / "environment.json").read_text())["data"]
    sums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (cache_folder / "own").glob("My-table*")
        if file.suffix != ".sha256"
    }
    assert len(sums) == 3
    assert recorded == sums
