"""What is published: a wheel and a source archive that work without the source tree."""

import os
import subprocess
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

FIT = """
import comanifold, numpy as np
from comanifold import CoManifold
X = np.add.outer(np.arange(12.0), np.arange(9.0))
X[::3, ::2] = np.nan
print(comanifold.__file__, CoManifold().fit(X).row_embedding_.shape)
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def pip(python, *arguments):
    """Run pip; skip where no index can be reached."""
    options = "--quiet", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")
    done = run(python, "-m", "pip", "install", *options, *arguments)
    if done.returncode:
        words = ("No matching distribution", "Could not find a version", "connection", "retries")
        if any(word.lower() in done.stderr.lower() for word in words):
            pytest.skip(f"pip cannot reach an index: {done.stderr.strip().splitlines()[-1]:.200}")
        pytest.fail(done.stderr[-2000:])


def new_environment(folder):
    venv.create(folder, with_pip=True)
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    builder = new_environment(tmp_path_factory.mktemp("builder"))
    pip(builder, "build")
    done = run(builder, "-m", "build", "--outdir", str(folder), str(ROOT))
    if done.returncode and "hatchling" in done.stdout + done.stderr:
        pytest.skip("the build back end cannot be fetched")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_archives_hold_what_they_should(built):
    (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert source <= set(names)
    assert not [name for name in names if name.startswith(("tests", "docs", "examples"))]
    with tarfile.open(archive) as files:
        inside = {name.split("/", 1)[1] for name in files.getnames() if "/" in name}
    assert {"README.md", "LICENSE", "CITATION.cff", "docs/index.md", "pyproject.toml"} <= inside
    assert not [name for name in inside if name.startswith(("docs/_build", "docs/auto_examples"))]


def test_the_wheel_works_from_scratch(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    python = new_environment(tmp_path / "venv")
    pip(python, str(wheel))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = run(python, "-c", FIT, cwd=elsewhere, env=environment)
    assert done.returncode == 0, done.stderr
    where, shape = done.stdout.split(" ", 1)
    assert Path(where).is_relative_to(tmp_path)
    assert shape.strip() == "(12, 2)"
    version = run(python, "-m", "comanifold", "--version", cwd=elsewhere, env=environment)
    assert version.stdout.startswith("comanifold")
