import asyncio
import json
import threading
import time

import pytest

from unpick.explorer.guard import LARGEST
from unpick.explorer.server import WAITING, Explorer, make_app
from unpick.explorer.subject import Subject
from unpick.runs.disk import write

pytestmark = pytest.mark.slow

HOST = {"host": "localhost:8000"}


def request(app, path, body=b"", method="POST", headers=None):
    """Status, headers and body that the application answers with."""
    return asyncio.run(ask(app, path, body, method, headers))


async def ask(app, path, body=b"", method="POST", headers=None):
    named = {**HOST, **(headers or {})}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in named.items()],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 8000),
        "client": ("127.0.0.1", 1),
    }
    parts = [body[k : k + 10_000] for k in range(0, len(body), 10_000)] or [b""]
    sent = []

    async def receive():
        if parts:
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    status = sent[0]["status"]
    headers = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return status, headers, b"".join(m.get("body", b"") for m in sent[1:])


def question(app, name, **asked):
    status, _, body = request(app, f"/secret/api/{name}", json.dumps(asked).encode())
    return status, json.loads(body)


def test_the_page_loads_nothing_from_elsewhere(app):
    status, headers, body = request(app, "/secret/", method="GET")
    assert status == 200
    assert b"<title>unpick explore</title>" in body
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    for name in ("app.js", "charts.js", "style.css"):
        status, _, text = request(app, f"/secret/{name}", method="GET")
        assert status == 200
        assert b"http://" not in text.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in text


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/", {}, 403),
        ("/wrong/", {}, 403),
        ("/secre/", {}, 403),
        ("/secrets/", {}, 403),
        ("/secret/", {"host": "evil.example"}, 403),
        ("/secret/", {"host": "localhost.evil.example:8000"}, 403),
        ("/secret/", {"host": "[::1"}, 403),
        ("/secret/", {"origin": "http://evil.example"}, 403),
        ("/secret/", {"origin": "null"}, 403),
        ("/secret/", {"origin": "http://localhost:8000"}, 200),
        ("/secret/", {"host": "127.0.0.1:9999"}, 200),
        ("/secret/", {"host": "[::1]:9999"}, 200),
        ("/secret/../config.json", {}, 404),
        ("/secret/report/../../../etc/passwd", {}, 404),
        ("/secret/report//etc/passwd", {}, 404),
        ("/secret/front/app.js", {}, 404),
    ],
)
def test_strangers_are_refused(app, path, headers, expected):
    assert request(app, path, method="GET", headers=headers)[0] == expected


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE"])
def test_the_page_is_read_only(app, method):
    assert request(app, "/secret/api/overview", method=method)[0] == 405


def test_large_requests_are_refused_whether_announced_or_not(app):
    announced = {"content-length": str(LARGEST + 1)}
    assert request(app, "/secret/api/overview", headers=announced)[0] == 413
    assert request(app, "/secret/api/overview", headers={"content-length": "-1"})[0] == 413
    body = b'{"model": "' + b"x" * (2 * LARGEST) + b'"}'
    assert request(app, "/secret/api/overview", body)[0] == 413


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"3", b"\xff\xfe", b"[" * 5000, b'{"model": 3}', b'{"model": "no"}']
)
def test_malformed_questions_get_a_sentence(app, body):
    status, _, answer = request(app, "/secret/api/describe", body)
    assert status == 400
    assert json.loads(answer)["error"]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"z": "no"},
        {"z": [0.0]},
        {"z": [True] * 4},
        {"z": [1e300] * 4},
        {"z": [float("nan")] * 4},
        {"z": [[0.0]] * 4},
    ],
)
def test_a_point_must_be_a_point(app, on_images, asked):
    status, answer = question(app, "decode", model=on_images.name, **asked)
    assert status == 400
    assert "z must be 4 numbers" in answer["error"]


def test_a_model_that_fails_is_a_sentence():
    def load():
        raise KeyError("weights")

    app = make_app(Explorer([Subject("broken", load)]), "secret")
    status, answer = question(app, "describe", model="broken")
    assert status == 400
    assert answer["error"] == "KeyError: 'weights'"


def test_unknown_questions_are_not_found(app):
    assert question(app, "__init__")[0] == 404
    assert question(app, "subject")[0] == 404


def test_every_question_is_answered(app, on_images, on_points):
    at = {"model": on_images.name, "z": [0.0, 0.1, 0.2, 0.3]}
    for name, more in {
        "overview": {},
        "describe": {},
        "start": {"row": 1},
        "decode": {},
        "traversals": {},
        "geometry": {},
        "plane": {"first": 0, "second": 1},
        "linear": {"latent": 1, "step": 0.5},
        "information": {},
        "scatter": {"latent": 0, "other": 1, "factor": "x"},
        "match": {"other": on_images.name},
        "words": {},
        "studies": {},
    }.items():
        status, answer = question(app, name, **at, **more)
        assert status == 200, (name, answer)
    cloud = question(app, "cloud", model=on_points.name, z=[0.0, 0.0])[1]
    assert len(cloud["points"][0]) == 3


def test_runs_that_end_become_models_and_damage_is_told(runs, tmp_path):
    explorer = Explorer(watched=[tmp_path])
    assert explorer.look() == []
    for run in runs[:2]:
        (tmp_path / run.path.name).symlink_to(run.path)
    broken = tmp_path / "broken-0123456789ab"
    broken.mkdir()
    write(broken / "config.json", b"{")
    states = {run["name"]: run["state"] for run in explorer.look()}
    assert states.pop(broken.name) == "damaged"
    assert set(states.values()) == {"finished"}
    assert set(explorer.subjects) == set(states)


def slow_subject(name, seconds):
    def decode(z):
        time.sleep(seconds)
        return z

    def load():
        import torch

        from unpick.probe import Probe

        return Probe(lambda x: x, decode, torch.randn(40, 2, dtype=torch.float64))

    return Subject(name, load)


def test_a_slow_model_blocks_no_other_and_turns_away_a_crowd():
    explorer = Explorer([slow_subject("slow", 0.2), slow_subject("quick", 0.0)])
    app = make_app(explorer, "secret")
    at = {"z": [0.0, 0.0]}

    async def crowd():
        body = json.dumps({"model": "slow", **at}).encode()
        slow = [asyncio.create_task(ask(app, "/secret/api/decode", body)) for _ in range(20)]
        await asyncio.sleep(0.05)
        quick = json.dumps({"model": "quick", **at}).encode()
        first = asyncio.create_task(ask(app, "/secret/api/decode", quick))
        await asyncio.wait([first, *slow], return_when=asyncio.ALL_COMPLETED)
        return first.result()[0], [task.result()[0] for task in slow]

    quick, slow = asyncio.run(crowd())
    assert quick == 200
    assert slow.count(200) == WAITING
    assert slow.count(503) == 20 - WAITING


def test_of_one_slider_the_newest_position_is_decoded():
    release, seen = threading.Event(), []

    def decode(z):
        release.wait(5)
        seen.append(float(z[0, 0]))
        return z

    def load():
        import torch

        from unpick.probe import Probe

        return Probe(lambda x: x, decode, torch.randn(40, 2, dtype=torch.float64))

    app = make_app(Explorer([Subject("held", load)]), "secret")

    async def drag():
        tasks = []
        for k in range(5):
            asked = {"model": "held", "z": [float(k), 0.0], "slider": "a"}
            tasks.append(
                asyncio.create_task(ask(app, "/secret/api/decode", json.dumps(asked).encode()))
            )
            await asyncio.sleep(0.02)
        release.set()
        return [(await task)[0] for task in tasks]

    assert asyncio.run(drag()) == [200, 409, 409, 409, 200]
    assert seen == [0.0, 4.0]


def test_the_report_is_served_by_name_only(tmp_path, runs):
    (tmp_path / "index.html").write_text("<p>table</p>")
    (tmp_path / "secret.json").write_text("{}")
    app = make_app(Explorer(report=tmp_path), "secret")
    assert request(app, "/secret/report/index.html", method="GET")[0] == 200
    assert request(app, "/secret/report/secret.json", method="GET")[0] == 404
