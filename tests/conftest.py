import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from comanifold._fit import settings as fit_settings
from comanifold.graphs import _pairs

# The first call of a compiled function takes as long as compiling it: no deadlines. Automatic
# runs repeat the same examples; everyone else looks at new ones each time, and at many more
# with HYPOTHESIS_PROFILE=long.
settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local")
)


# A shell that starts a run in the background has it ignore Ctrl-C, and so all it starts; some tests
# press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def lung500_labelled():
    """The lung500 data, complete: 500 genes by 56 subjects, and the diagnoses of the subjects."""
    folder = os.environ.get("COMANIFOLD_DATA")
    if not folder:
        pytest.skip("COMANIFOLD_DATA is not set: it names the folder with lung500.csv")
    path = Path(folder) / "lung500.csv"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    header, *lines = path.read_text().splitlines()
    diagnoses = [name.strip('"').split("_")[0].split(".")[0] for name in header.split(",")[1:]]
    return np.array([[float(x) for x in line.split(",")[1:]] for line in lines]), diagnoses


@pytest.fixture(scope="session")
def lung500(lung500_labelled):
    return lung500_labelled[0]


@pytest.fixture
def few(monkeypatch):
    """So few candidates that small matrices have pairs without a distance."""
    monkeypatch.setattr(fit_settings, "_LEAST_CANDIDATES", 10)
    monkeypatch.setattr(_pairs, "N_SPREAD", 4)
