"""A model in notebooks: what was found, the report inline, and the progress bar."""

import json
import re
import subprocess
import sys
import webbrowser
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries

HOSTILE = "<script>alert(1)</script>'\"&"


@pytest.fixture(scope="module")
def frame():
    X = remove_entries(make_checkerboard(40, 30, noise=0.4, random_state=0).X, 0.3, random_state=0)
    X[5] = np.nan
    return pd.DataFrame(X, columns=[f"{HOSTILE} {j}" for j in range(30)])


@pytest.fixture(scope="module")
def model(frame):
    with pytest.warns(UserWarning, match="no observed entry"):
        return CoManifold(keep_scales=True).fit(frame)


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser is asked to open."""
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


# As HTML


def test_a_fitted_model_shows_what_was_found(model):
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        text = unescape(re.sub("<[^>]*>", " ", shown))
        assert "40 rows × 30 columns" in text
        assert model.summary(compare=False).clusters["rows"]["summary"] in text
        assert "keep_scales" in shown  # the parameters, folded
        assert shown.count("<details") >= 1
        assert "<script>alert(1)" not in shown
        assert "<script>alert(1)</script>" in text
    assert model._repr_mimebundle_()["text/plain"] == "CoManifold(keep_scales=True)"


def test_points_are_drawn_where_they_are_in_the_colours_of_their_clusters(model):
    rows = re.search(r"<svg.*?</svg>", model._repr_html_())[0]
    circles = re.findall(r"cx='([^']*)' cy='([^']*)' r='[^']*' fill='([^']*)'", rows)
    known = np.flatnonzero(model.row_labels_ >= 0)
    assert len(circles) == 39
    drawn = np.array([(float(x), -float(y)) for x, y, _ in circles])
    points = model.row_embedding_[known]
    # The same up to one scale and a shift
    scale = np.ptp(drawn, axis=0).max() / np.ptp(points, axis=0).max()
    np.testing.assert_allclose(
        drawn - drawn.mean(axis=0), scale * (points - points.mean(axis=0)), atol=0.1
    )
    colours = {
        (label, c) for label, (_, _, c) in zip(model.row_labels_[known], circles, strict=True)
    }
    n_clusters = model.row_labels_.max() + 1
    assert len(colours) == len({colour for _, colour in colours}) == n_clusters


def test_of_many_points_some_are_drawn_and_it_says_so():
    X = np.random.default_rng(0).normal(size=(2500, 4))
    model = CoManifold(1).fit(X)
    shown = model._repr_html_()
    assert "2,500 rows (834 shown)" in shown
    assert shown.count("<circle") == 834 + 4


def test_an_unfitted_model_has_the_diagram_of_scikit_learn(model):
    unfitted = clone(model)
    assert "sk-container" in unfitted._repr_html_()
    assert "comanifold-model" not in unfitted._repr_html_()
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


# The report


def test_outside_of_notebooks_the_report_opens_in_a_browser(model, opened, tmp_path):
    path = model.report(tmp_path / "page.html", title="A title of its own")
    assert path == tmp_path / "page.html"
    assert opened == [path.as_uri()]
    assert "<title>A title of its own</title>" in path.read_text(encoding="utf-8")
    assert model.report(tmp_path / "quiet.html", show=False).exists()
    assert len(opened) == 1


def test_without_a_path_the_report_is_a_temporary_file(model, opened):
    path = model.report()
    try:
        assert opened == [path.as_uri()]
        assert path.stat().st_size > 1_000_000
        assert path.suffix == ".html"
    finally:
        path.unlink()


def test_the_report_needs_a_fit(opened):
    with pytest.raises(NotFittedError):
        CoManifold().report()
    assert not opened


# A notebook: a small stand-in for IPython, which notes what is displayed.

STAND_IN = """
import json, sys, types
shown = []
class Handle:
    def __init__(self, place):
        self.place = place
    def update(self, bundle, raw):
        assert raw
        shown[self.place].append(bundle)
def display(bundle, raw, display_id=None):
    assert raw
    shown.append([bundle])
    return Handle(len(shown) - 1) if display_id else None
ipython = types.ModuleType("IPython")
ipython.display = types.ModuleType("IPython.display")
ipython.display.display = display
shell = types.SimpleNamespace(kernel=object())
ipython.get_ipython = lambda: shell
sys.modules["IPython"], sys.modules["IPython.display"] = ipython, ipython.display
import numpy as np
from comanifold import CoManifold
X = np.cos(np.linspace(0, 3, 40)[:, None] - np.linspace(0, 3, 30))
X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
model = CoManifold().fit(X, progress=True)
"""


def in_notebook(code):
    """Run code in a stand-in for a notebook; return all versions of each output."""
    code = f"{STAND_IN}\n{code}\nprint(json.dumps(shown))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_notebook_has_a_progress_bar_that_ends():
    (bar,) = in_notebook("")
    shares = [float(re.search("value='([0-9.]+)'", at["text/html"])[1]) for at in bar]
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert re.fullmatch(r"fit: fitted in [0-9.]+ (s|min)", bar[-1]["text/plain"])


def test_a_failed_fit_ends_its_bar():
    _, bar = in_notebook(
        "try:\n    CoManifold(n_clusters=99).fit(X, progress=True)\nexcept ValueError:\n    pass"
    )
    assert bar[-1]["text/plain"].startswith("fit: stopped at 0%")


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(tmp_path):
    page = tmp_path / "page.html"
    _, (frame,) = in_notebook("assert model.report(title='In a <notebook>', height=345) is None")
    code = f"path = model.report({str(page)!r}); assert path.exists()"
    assert len(in_notebook(code)) == 2
    content = frame["text/html"]
    assert content.startswith("<iframe ")
    # Scripts run, but not as those of the notebook.
    assert "sandbox='allow-scripts allow-downloads allow-popups'" in content
    assert "height:345px" in content
    inside = unescape(re.search('srcdoc="([^"]*)"', content)[1])
    assert "<title>In a &lt;notebook&gt;</title>" in inside
    assert "Content-Security-Policy" in inside


def test_a_bar_is_not_drawn_unless_there_is_a_terminal(frame, capfd):
    X = frame.drop(index=5)
    CoManifold().fit(X, progress=True)
    CoManifold().fit(X, progress=False)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match="progress must be a callable or None, got 5"):
        CoManifold().fit(X, progress=5)
