"""The package as a newcomer meets it."""

import subprocess
import sys
from pathlib import Path

import pytest

import comanifold

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there():
    for name in comanifold.__all__:
        assert getattr(comanifold, name) is not None
    assert set(comanifold.__all__) <= set(dir(comanifold))
    assert set(comanifold.__all__) == {*comanifold._HOMES, *comanifold._MODULES}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        comanifold.nothing  # noqa: B018


def test_modules_are_reached_from_the_package_alone():
    code = (
        "import comanifold as c; c.report.write_report, c.tables.read_table, c.datasets.make_curve"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, comanifold; "
        "print([m for m in ('numba', 'scipy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solving_loads_no_plotting():
    code = (
        "import sys; from comanifold import CoCluster, CoManifold, DiffusionMap; "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {comanifold.__version__}\n" in text
