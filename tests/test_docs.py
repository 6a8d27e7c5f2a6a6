"""The documentation keeps its word: its code runs, its commands exist, its examples are short."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from comanifold.cli import commands

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def load_extension(name):
    """Import an extension of the documentation, which is in no package."""
    path = ROOT / "docs" / "_extensions" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its data classes look for their module
    spec.loader.exec_module(module)
    return module


page_code = load_extension("page_code")
repository_links = load_extension("repository_links")


def read_blocks(page):
    return list(page_code.blocks_of(page.read_text(encoding="utf-8")))


WITH_PYTHON = [page for page in PAGES if any(b.language == "python" for b in read_blocks(page))]
COMMANDS = [
    pytest.param(command, id=f"{page.name}:{block.line} {' '.join(command)[:40]}")
    for page in PAGES
    for block in read_blocks(page)
    if block.language == "console"
    for command in block.commands
]


@pytest.fixture
def quiet_figures():
    """Figures that are drawn and thrown away, as the settings were before."""
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")


def test_pages_have_code():
    assert {"README.md", "tutorial.md", "extending.md"} <= {page.name for page in WITH_PYTHON}


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
@pytest.mark.usefixtures("quiet_figures")
def test_the_python_of_a_page_runs(page, tmp_path):
    # Its commands run when the page is built; here only what the page reads from them would.
    n_python = sum(block.language == "python" for block in read_blocks(page))
    assert page_code.run_page(page, tmp_path, commands=False) == n_python


def test_an_error_names_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\nraise OSError(x)\n```\n", encoding="utf-8")
    with pytest.raises(OSError, match="1") as failure:
        page_code.run_page(page, tmp_path)
    assert failure.traceback[-1].lineno + 1 == 5


def test_output_that_a_page_shows_is_what_is_printed(tmp_path):
    page = tmp_path / "page.md"
    text = "```console\n$ comanifold --version\ncomanifold, version 9\n```\n"
    page.write_text(text.replace("comanifold, version 9", "comanifold, ver..."), encoding="utf-8")
    assert page_code.run_page(page, tmp_path) == 1
    page.write_text(text.replace("comanifold, version", "comanifold, edition"), encoding="utf-8")
    with pytest.raises(RuntimeError, match="shows 'comanifold, edition 9'"):
        page_code.run_page(page, tmp_path)


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_and_their_options_exist(words):
    _, name, *rest = words
    assert name in commands.commands, f"comanifold has no command {name}"
    known = {flag for option in commands.commands[name].params for flag in option.opts}
    known |= {flag for option in commands.commands[name].params for flag in option.secondary_opts}
    asked = {word.split("=")[0] for word in rest if word.startswith("-")}
    assert asked <= known | {"--help", "-h"}


def test_links_lead_somewhere_in_the_repository():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#\s]*)[^)\s]*\)", text):
            if target and "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_pictures_are_in_the_repository_or_made_in_the_build():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]*)\)", text):
            is_made = target.startswith(f"_generated/{page.stem}/") and page.stem in page_code.RUN
            assert is_made or (page.parent / target).exists(), f"{page.name}: {target}"


def test_links_to_folders_lead_to_pages_of_the_site():
    source = ["[the gallery](../examples) and [a file](../examples/plot_genes.py)"]
    repository_links.rewrite(source)
    assert source == ["[the gallery](auto_examples/index) and [a file](../examples/plot_genes.py)"]
    for folder in repository_links.PAGES:
        assert (ROOT / "docs" / folder).is_dir()


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(example):
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.usefixtures("quiet_figures")
def test_an_example_draws_one_picture(example, tmp_path, monkeypatch):
    import runpy

    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example))
    assert len(plt.get_fignums()) == 1


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="the site is built with pip install -e '.[docs]'")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "reference" / "generated" / "comanifold.CoManifold.html").exists()
