"""The path of a first-time user, with nothing but what README and the help say.

The demonstration, then a messy spreadsheet: how it is read, what to correct, groups with what
distinguishes them, a comparison with other methods, and figures for a paper.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from comanifold.tables import read_cells, read_table

openpyxl = pytest.importorskip("openpyxl")

README = Path(__file__).parents[2] / "README.md"
REGIONS = ("north", "south", "east")


def call(folder, *arguments):
    """Run a command, after checking that README or the help names it and all of its options."""
    command, *options = map(str, arguments)
    documented = README.read_text(encoding="utf-8") + help_of()
    assert re.search(rf"\b{command}\b", documented), f"nothing names the command {command}"
    explained = help_of(command)
    for option in options:
        if option.startswith("-"):
            assert option in explained, f"the help of {command} does not name {option}"
    return run(folder, command, *options)


@cache
def help_of(*command):
    return run(".", *command, "--help").stdout


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "comanifold", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    """A sheet with titles, units, text columns, codes of missing values, limits and footnotes."""
    rng = np.random.default_rng(3)
    region, kind = rng.integers(3, size=60), rng.integers(4, size=20)
    X = 20 + 6 * rng.normal(size=(3, 4))[np.ix_(region, kind)] + 1.5 * rng.normal(size=(60, 20))
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Measurements"
    page.append(["Lake survey, all stations"])
    page.append(["provisional"])
    page.append([])
    page.append(["station", "region", "sampled on", *(f"analyte {j}" for j in range(1, 21))])
    page.append(["", "", "", *["mg/l"] * 10, *["µg/l"] * 10])
    for i, row in enumerate(X):
        chance = rng.random(20)
        cells = [
            None if u < 0.2 else "n.d." if u < 0.25 else round(float(x), 2)
            for x, u in zip(row, chance, strict=True)
        ]
        page.append([f"S{i + 1:02d}", REGIONS[region[i]], f"2021-0{1 + i % 9}-11", *cells])
    page.append([])
    page.append(["* n.d.: not determined"])
    page.append(["Source: own measurements"])
    path = tmp_path_factory.mktemp("first") / "lakes.xlsx"
    book.save(path)
    return path, region


def test_the_demonstration(tmp_path):
    done = call(tmp_path, "demo")
    assert done.returncode == 0
    (page,) = re.findall(r"^Open (\S+) in a browser\.$", done.stdout, re.MULTILINE)
    assert (tmp_path / page).stat().st_size > 100_000


def test_from_a_messy_spreadsheet_to_figures_for_a_paper(sheet):
    path, region = sheet
    folder = path.parent
    # How is it read, and what should be corrected?
    refused = call(folder, "inspect", path.name)
    assert refused.returncode == 1
    (code,) = re.findall(r'If it means missing: --missing "(.*?)"', refused.stderr)
    missing = ("--missing", code)
    seen = call(folder, "inspect", path.name, *missing).stdout
    footer = max(re.findall(r"(--skip-footer) (\d+)", seen), key=lambda option: int(option[1]))
    options = (*missing, *footer)
    again = call(folder, "inspect", path.name, *options).stdout
    assert "60 rows x 20 columns" in again
    assert "Doubts: none." in again
    assert "mg/l" in again
    # Groups, as many as I know there are, and what distinguishes them.
    fitted = call(folder, "fit", path.name, *options, "--row-clusters", 3, "--out", "results")
    assert fitted.returncode == 0, fitted.stderr
    summary = " ".join(fitted.stdout.split())
    assert "rows: 3 clusters, as asked for (" in summary
    assert "row cluster 1 (" in summary
    assert "row_distinguishing.csv" in summary
    assert "predicts them" in summary  # whether another method does so better, or not
    _, *clusters = read_cells(folder / "results" / "clusters.csv")
    groups = [cluster for mode, _, cluster, _ in clusters if mode == "row"]
    assert len({*zip(groups, region.tolist(), strict=True)}) == 3
    header, *rows = read_cells(folder / "results" / "row_distinguishing.csv")
    first = dict(zip(header, rows[0], strict=True))
    values = read_table(path, missing=code, skip_footer=int(footer[1])).values
    of_analyte = values[:, int(first["name"].split()[1]) - 1]
    inside = np.nanmean(of_analyte[np.array(groups) == first["cluster"]])
    assert float(first["inside"]) == pytest.approx(inside)
    # Figures for a paper, as the summary says.
    (line,) = re.findall(r"comanifold (report results --figures \S+):", summary)
    drawn = call(folder, *line.split())
    assert drawn.returncode == 0, drawn.stderr
    figures = {found.name for found in (folder / "results" / "figures").iterdir()}
    assert {"row_distinguishing.svg", "row_distinguishing.pdf", "matrix.svg"} <= figures
    picture = ElementTree.parse(folder / "results" / "figures" / "row_distinguishing.svg")
    texts = " ".join("".join(text.itertext()) for text in picture.iterfind(".//{*}text"))
    assert first["name"] in texts


def test_whether_another_method_is_better(sheet):
    path, _ = sheet
    compared = call(path.parent, "compare", path.name, "--missing", "n.d.", "--repeats", 2)
    assert compared.returncode == 0, compared.stderr
    for words in ("SoftImpute", "KNN of rows", "column means", "Filling in:", "are noise."):
        assert words in compared.stdout
