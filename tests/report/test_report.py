"""The HTML page: one file that runs only its own scripts."""

import base64
import hashlib
import json
import re
import sys

import pytest

from comanifold import CoManifold
from comanifold.datasets import make_linkage, remove_entries
from comanifold.report import write_report
from comanifold.report._report import json_for_html

HOSTILE = "</script><script>alert(1)</script><!--\u2028&\ud800"


def test_json_is_safe_inside_html():
    text = json_for_html({"name": HOSTILE})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": HOSTILE}


def test_only_our_own_scripts_may_run(model, tmp_path):
    path = tmp_path / "report.html"
    write_report(model, path, title=HOSTILE, row_names=[HOSTILE] * 40)
    page = path.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2
    allowed = policy.split("script-src ")[1].split(";")[0].split()
    for script, source in zip(scripts, allowed, strict=True):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert source == f"'sha256-{digest}'"
    assert "alert(1)</script>" not in page
    assert "http://" not in policy
    assert "unsafe-inline" not in policy.split("style-src-attr")[0]


def test_a_page_of_500_rows_and_columns_is_less_than_10_megabytes(tmp_path):
    X = make_linkage(500, 500, noise=0.2, random_state=0).X
    X = remove_entries(X, 0.5, random_state=0)
    model = CoManifold(keep_scales=True, scale_weights="cost", first_graphs="masked").fit(X)
    n_values = (model.scales_["n_row_clusters"] * model.scales_["n_column_clusters"]).sum()
    assert n_values > 1_000_000  # more than a page has room for
    write_report(model, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 10_000_000


def test_an_error_leaves_the_existing_file_unchanged(model, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="row_names must have one value for each row"):
        write_report(model, path, row_names=["a"])
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("package", ["jinja2", "plotly.offline"])
def test_a_missing_package_is_named(model, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}.*comanifold\[report\]"):
        write_report(model, tmp_path / "report.html")
    assert not any(tmp_path.iterdir())
