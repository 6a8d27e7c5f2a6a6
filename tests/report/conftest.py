"""Fitted models, and their pages in a browser."""

import shutil

import numpy as np
import pytest
from oracles.pages import COLUMNS, ROWS

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.report import render_report

_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def holes():
    """A checkerboard of 40 x 25 with missing entries, one row and one column without any entry."""
    X = remove_entries(make_checkerboard(40, 25, random_state=0).X, 0.3, random_state=0)
    X[7], X[:, 3] = np.nan, np.nan
    return X


@pytest.fixture(scope="session")
def model(holes):
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold(3, keep_scales=True).fit(holes)


@pytest.fixture(scope="session")
def model_without_scales(holes):
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold().fit(holes)


# Started anew for each file: while it runs, no other event loop can.
@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs the browser chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def troubles():
    """What went wrong in any page, and what any page has asked for beside itself."""
    return []


@pytest.fixture
def nothing_goes_wrong(troubles):
    """Fails a test in which a page had trouble."""
    yield
    assert troubles == []


@pytest.fixture(scope="module")
def opened(browser, troubles, tmp_path_factory):
    """Writes a report and opens it."""
    contexts = []

    def open_report(model, *, theme="light", **contents):
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_bytes(render_report(model, **contents))
        context = browser.new_context(
            viewport={"width": 1366, "height": 768}, color_scheme=theme, accept_downloads=True
        )
        contexts.append(context)
        context.set_default_timeout(120_000)  # machines may be busy
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: _note_request(request.url, path, troubles))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        return page

    yield open_report
    for context in contexts:
        context.close()


def _note_request(url, path, troubles):
    if url != path.as_uri() and not url.startswith(("blob:", "data:")):
        troubles.append(url)


@pytest.fixture(scope="module")
def usual_page(opened, model):
    return opened(
        model, row_names=ROWS, column_names=COLUMNS, title="Checkers", notes=["By the <author>"]
    )


@pytest.fixture
def page(usual_page):
    """A page that most tests share, for opening one takes seconds: afterwards as it was."""
    values = """() => Object.fromEntries([...document.querySelectorAll("select, input")].map(
        (control) => [control.id, control.value]))"""
    before = usual_page.evaluate(values)
    yield usual_page
    clear = usual_page.get_by_role("button", name="Clear selection")
    if clear.is_enabled():
        clear.click()
    # Twice: a slider changes which clusters are shown.
    for _ in range(2):
        usual_page.evaluate(
            """(before) => Object.entries(before).forEach(([id, value]) => {
                const control = document.getElementById(id);
                if (control.value === value) return;
                control.value = value;
                for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind));
            })""",
            before,
        )
    usual_page.evaluate("scrollTo(0, 0)")
    usual_page.mouse.move(5, 5)
    assert usual_page.evaluate(values) == before
