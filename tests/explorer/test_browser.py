"""The page in a real browser, where Chromium is installed."""

import base64
import io
import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unpick.explorer import explore
from unpick.explorer.static import write_static
from unpick.explorer.subject import subject_of_folder, subject_of_model
from unpick.runs import Runner, make
from unpick.runs.disk import create, write

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """A page whose console must stay silent."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    complaints = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    assert complaints == []
    context.close()


@pytest.fixture(scope="module")
def served(runs):
    page = explore(runs[0].path.parent)
    yield page
    page.stop()


def open_model(page, url, name):
    page.goto(url)
    page.wait_for_selector(".slider")
    page.select_option("#model", name)
    until(page, "name => decodeURIComponent(location.hash).includes(name)", name)
    settle(page)


def until(page, function, arg=None):
    """Wait until a function is true. The page forbids what Playwright would wait with."""
    for _ in range(300):
        if page.evaluate(function, arg):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {function}")


def settle(page):
    """Wait until sliders, picture and panel belong to the chosen model."""
    until(
        page,
        "() => document.querySelector('#panel').getAttribute('aria-busy') === 'false'"
        " && document.querySelector('#views').children.length > 0",
    )


def shown(page, caption):
    source = page.get_attribute(f"#views figure:has-text('{caption}') img", "src")
    data = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)))


def drag(page, latent, value):
    """Move a slider; what does not lie in its range becomes the nearest that does."""
    value = page.evaluate(
        """([id, value]) => {
            const input = document.getElementById(id);
            input.value = value;
            input.dispatchEvent(new Event("input"));
            input.dispatchEvent(new Event("change"));
            return Number(input.value);
        }""",
        [f"latent-{latent}", value],
    )
    until(
        page,
        """([k, v]) => {
            const z = JSON.parse(document.querySelector('#views').dataset.z);
            return Math.abs(z[k] - v) < 1e-6;
        }""",
        [latent, value],
    )
    return value


def test_a_dragged_slider_shows_what_the_decoder_gives(page, served, runs):
    open_model(page, served.url, runs[2].path.name)
    before = shown(page, "edited")
    subject = subject_of_folder(runs[2].path)
    moved = drag(page, subject.order[0], 2.0)
    after = shown(page, "edited")
    z = subject.probe.mean[0].double()
    z[subject.order[0]] = moved
    expected = (subject.decode(z[None])[0, 0].clamp(0, 1) * 255).round().numpy()
    assert (before != after).any()
    assert np.abs(after - expected).max() <= 1
    assert (shown(page, "reconstruction") == before).all()


def test_another_observation_and_the_prior(page, served, runs):
    open_model(page, served.url, runs[2].path.name)
    page.fill("#row", "7")
    page.dispatch_event("#row", "change")
    until(page, "() => JSON.parse(decodeURIComponent(location.hash.slice(1))).row === 7")
    probe = subject_of_folder(runs[2].path).probe
    assert (shown(page, "original") == (probe.observations[7, 0] * 255).round().numpy()).all()
    page.click("#prior")
    until(page, "() => JSON.parse(decodeURIComponent(location.hash.slice(1))).row === null")
    until(page, "() => !document.querySelector('#views').textContent.includes('original')")


def test_every_panel_and_a_link_that_restores(page, served, runs):
    open_model(page, served.url, runs[2].path.name)
    for tab, sign in {
        "Geometry": "#panel .small img",
        "Factors": "#panel td button",
        "Words": "#panel .finding",
        "Latents": "#panel .strip img",
    }.items():
        page.click(f"#tab-{tab}")
        page.wait_for_selector(sign)
        settle(page)
    with page.expect_download() as saved:
        page.click("#panel h2 button")
    assert saved.value.suggested_filename == "traversals.png"
    page.click("#tab-Factors")
    page.click("#panel td button")
    page.wait_for_selector("#scatter circle")
    with page.expect_download() as saved:
        page.click("#scatter h2 button")
    assert saved.value.suggested_filename.endswith(".svg")
    value = drag(page, 1, 0.125)
    until(page, "() => location.hash.includes('0.125')")
    link = page.url
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector("#panel td button")
    assert other.eval_on_selector("#latent-1", "input => Number(input.value)") == value
    assert other.get_attribute("#tab-Factors", "aria-selected") == "true"


def test_models_beside_each_other_move_together(page, served, runs):
    open_model(page, served.url, runs[2].path.name)
    page.click("#beside summary")
    page.select_option("#others", [runs[3].path.name])
    page.wait_for_selector("#views figure:has-text('beside')")
    before = shown(page, "beside")
    for latent in range(4):
        drag(page, latent, 2.2)
    assert (shown(page, "beside") != before).any()


def test_a_cloud_turns_by_keyboard(page, served, runs):
    open_model(page, served.url, runs[0].path.name)
    page.click("#tab-Latents")
    page.wait_for_selector("#panel svg path")
    place = "document.querySelector('#panel svg circle').getAttribute('cx')"
    before = page.evaluate(place)
    page.focus("#panel svg")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(place) != before


def test_a_run_appears_grows_and_becomes_a_model(page, runs, tmp_path):
    config = replace(runs[0].config, seed=17)
    path = create(config, tmp_path)
    served = explore(tmp_path)
    try:
        page.goto(served.url)
        page.wait_for_selector(f"[data-run='{path.name}']")
        for step in (20, 40):
            records = [{"step": k, "loss": 1.0 / k} for k in range(10, step + 1, 10)]
            write(path / "log.jsonl", "".join(json.dumps(r) + "\n" for r in records).encode())
            page.wait_for_selector(f"text=step {step} of 60")
        page.wait_for_selector("#panel svg path.one")
        make([config], Runner(tmp_path, jobs=1, progress=False))
        page.wait_for_selector(f"#model option:has-text('{path.name}')", state="attached")
    finally:
        served.stop()


def test_a_static_page_needs_no_server(page, on_images, tmp_path):
    file = write_static([on_images], tmp_path, rows=2)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    page.goto(file.as_uri())
    page.wait_for_selector(".slider")
    settle(page)
    before = shown(page, "edited")
    latent = on_images.order[0]
    row = json.loads(page.text_content("#data"))["models"][on_images.name]["rows"]["0"]
    strip = next(r for r in row["traversals"]["rows"] if r["latent"] == latent)
    drag(page, latent, strip["at"][0])
    last = page.get_attribute("#views figure:has-text('edited') img", "src")
    assert last == strip["frames"][0]
    assert (shown(page, "edited") != before).any()


def test_a_table_shows_which_columns_a_latent_moves(page, tmp_path):
    """Most first; and no name of a column is cut off."""
    names = ["a", "a name that is longer than there is room", "od280/od315_of_wine", "WWWWWWWW"]
    mixing = torch.tensor([[0.0, 1.0, -3.0, 2.0], [4.0, 0.0, 0.0, 0.1]])
    x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0)) @ mixing
    inverse = torch.linalg.pinv(mixing)
    subject, _ = subject_of_model(
        "table", lambda x: x @ inverse, lambda z: z @ mixing, x, columns=names
    )
    page.goto(write_static([subject], tmp_path, rows=1).as_uri())
    page.wait_for_selector(".slider")
    settle(page)
    chart = "svg:has(> title:text-is('What latent 0 moves'))"
    assert page.locator(f"{chart} text title").all_text_contents() == [
        names[k] for k in (2, 3, 1, 0)
    ]
    starts = "all => all.map(text => text.getBBox().x)"
    assert min(page.locator("svg text:has(> title)").evaluate_all(starts)) >= 0


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_is_accessible_and_fits(page, served, runs, width):
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).parent / "axe.min.js"
    page.set_viewport_size({"width": width, "height": 800})
    open_model(page, served.url, runs[2].path.name)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = page.evaluate(f"(() => {{ {axe.read_text()} }})() || axe.run()")
    assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []


def test_two_hundred_requests_at_once_are_all_answered(served, runs):
    import urllib.error
    import urllib.request

    body = json.dumps({"model": runs[2].path.name, "z": [0.0] * 4}).encode()
    answers = []

    def ask():
        try:
            with urllib.request.urlopen(served.url + "api/decode", body, timeout=30) as response:
                answers.append(response.status)
        except urllib.error.HTTPError as error:
            answers.append(error.code)

    threads = [threading.Thread(target=ask) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 200
    assert set(answers) <= {200, 503}
    assert answers.count(200) >= 1
