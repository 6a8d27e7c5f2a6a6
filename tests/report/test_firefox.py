"""The page in Firefox, if it is installed and there is a puppeteer-core to drive it.

npm install --prefix FOLDER puppeteer-core
COMANIFOLD_PUPPETEER=FOLDER python -m pytest tests/report/test_firefox.py
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from comanifold.report import render_report

# They would run or break something if they were not taken as text.
HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "</script>", "&amp;", "‮x"]

SCRIPT = Path(__file__).with_name("firefox.mjs")


@pytest.fixture
def drive(tmp_path):
    """Writes a report, clicks through it in Firefox and returns what was seen."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    folder = os.environ.get("COMANIFOLD_PUPPETEER")
    if not (program and folder and shutil.which("node")):
        pytest.skip("needs Firefox, node, and puppeteer-core in $COMANIFOLD_PUPPETEER")

    def open_report(model, **contents):
        page, screenshot = tmp_path / "report.html", tmp_path / "report.png"
        page.write_bytes(render_report(model, **contents))
        command = ["node", SCRIPT, Path(folder).resolve(), program, page, screenshot]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        assert screenshot.stat().st_size > 10_000
        return json.loads(done.stdout)

    return open_report


def test_firefox_shows_and_changes_the_page(drive, model):
    seen = drive(
        model,
        row_names=[f"gene {i}" for i in range(40)],
        column_names=[*HOSTILE, *range(20)],
        title="<b>Checkers",
    )
    assert seen["troubles"] == []
    assert seen["title"] == "<b>Checkers"
    assert "confidence" in seen["clusters"]
    assert seen["selection"].startswith("11 rows")
    assert "effect" in seen["comparison"]
    assert seen["scale"]
    low, high = seen["range"]
    assert high - low == pytest.approx(25 / 2)
    assert seen["picture"] == "b-checkers-rows.svg"
