"""What travels to the machines of a cluster and back."""

from unpick.data import OwnData, own_data
from unpick.data.cars3d import Cars3D
from unpick.data.twins import Noisy
from unpick.runs.parcels import Changes, apply, changes, pack
from unpick.runs.supplies import receive, supply


def test_changes_make_another_folder_the_same(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "run" / "measures").mkdir(parents=True)
    there.mkdir()
    for name in ("config.json", "results.json", "checkpoint-1", "measures/MIG.json", "lock", ".x"):
        (here / "run" / name).write_text(name)
    found, state = changes(here, {})
    apply(found, there)
    assert changes(here, state) == (Changes({}), state)
    assert pack([there / "run"]) == pack([here / "run"]) == found.written
    assert {name.partition("/")[2] for name in found.written} == {
        *("config.json", "results.json", "checkpoint-1", "measures/MIG.json")
    }
    (here / "run" / "new").write_text("other")
    (here / "run" / "new").replace(here / "run" / "config.json")
    (here / "run" / "checkpoint-1").unlink()
    found, _ = changes(here, state)
    assert found == Changes({"run/config.json": b"other"}, ("run/checkpoint-1",))
    apply(found, there)
    assert pack([there / "run"]) == pack([here / "run"])


def test_results_are_written_after_all_else(tmp_path, monkeypatch):
    """A kill in between must not leave results without the files that they refer to."""
    order = []
    monkeypatch.setattr("unpick.runs.parcels.write", lambda path, content: order.append(path.name))
    names = ("a/results.json", "a/weights.safetensors", "b/results.json", "b/log.jsonl")
    apply(Changes(dict.fromkeys(names, b"")), tmp_path)
    assert sorted(order[:2]) == ["log.jsonl", "weights.safetensors"]
    assert order[2:] == ["results.json"] * 2


def test_small_files_are_sent_together(tmp_path, monkeypatch):
    monkeypatch.setattr("unpick.runs.supplies.BLOCK", 100)
    sizes = {"0.mat": 60, "1.mat": 60, "2.mat": 0, "3.mat": 300, "4.mat": 1}
    (tmp_path / "list.txt").write_text("\n".join(sizes))
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    blocks = []
    supply(Cars3D(str(tmp_path)), blocks.append)
    names = [[name for name, _ in block] for block in blocks]
    assert names == [["list.txt", "0.mat", "1.mat"], ["2.mat", "3.mat"], ["4.mat"]]


def test_files_that_were_sent_are_the_same_data_set(tmp_path, monkeypatch):
    (tmp_path / "wine.csv").write_text("a,b\n" + "".join(f"{k},{k * k}\n" for k in range(30)))
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "driver"))
    data = own_data(tmp_path / "wine.csv")
    blocks = []
    sent = supply(data, lambda block: blocks.append(block) or len(blocks) - 1)
    (tmp_path / "wine.csv").unlink()
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "node"))
    fetched = []
    for _ in range(2):
        there = receive(data, sent, lambda k: fetched.append(k) or blocks[k])
    assert isinstance(there, OwnData)
    assert there.path.endswith("/wine.csv")
    assert there.load().shape == (2,)
    assert fetched == [0]  # once a node


def test_the_files_of_a_twin_are_those_of_its_original(tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "node"))
    (tmp_path / "list.txt").write_text("")
    data, blocks = Noisy(Cars3D(str(tmp_path)), 0.1), []
    sent = supply(data, lambda block: blocks.append(block) or 0)
    moved = receive(data, sent, lambda k: blocks[0])
    assert moved.epsilon == 0.1
    assert moved.original.path == str(tmp_path / "node" / "received" / sent[0].digest)
