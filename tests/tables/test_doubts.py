"""Doubts about values: raised where something is wrong, and only there."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles.hostile import matrices
from sklearn import datasets

from comanifold.tables import Table, find_doubts


def table(values, names=None):
    values = np.asarray(values, dtype=float)
    names = [f"c{j}" for j in range(values.shape[1])] if names is None else list(names)
    return Table(values, [f"r{i}" for i in range(len(values))], names)


def holes(values, rng, share=0.3):
    values = np.asarray(values, dtype=float)
    return np.where(rng.random(values.shape) < share, np.nan, values)


FINE = {
    "gaussian": lambda rng: rng.normal(size=(200, 30)),
    "gaussian with holes": lambda rng: holes(rng.normal(size=(200, 30)), rng, 0.6),
    "student t": lambda rng: rng.standard_t(4, size=(1000, 100)),
    "cauchy": lambda rng: rng.standard_cauchy((200, 50)),
    "rare counts": lambda rng: rng.poisson(0.05, size=(300, 300)),
    "counts": lambda rng: rng.negative_binomial(0.3, 0.05, size=(300, 400)),
    "large counts": lambda rng: rng.negative_binomial(1, 0.001, size=(100, 100)),
    "geometric": lambda rng: rng.geometric(0.3, size=(300, 100)) - 1,
    "zipf": lambda rng: np.minimum(rng.zipf(2, size=(300, 100)), 1e6),
    "likert": lambda rng: rng.integers(1, 6, size=(200, 30)),
    "ratings": lambda rng: holes(rng.integers(1, 11, size=(200, 100)), rng, 0.8),
    "zero or one": lambda rng: rng.random((1000, 200)) < 0.004,
    "ternary": lambda rng: rng.integers(-1, 2, size=(100, 20)),
    "log-normal": lambda rng: rng.lognormal(size=(300, 100)),
    "wide log-normal": lambda rng: rng.lognormal(sigma=2, size=(500, 200)),
    "many zeros": lambda rng: (rng.random((300, 99)) < 0.2) * rng.lognormal(size=(300, 99)),
    "saturated": lambda rng: np.clip(rng.normal(size=(200, 20)), -1, 1.5),
    "ranks": lambda rng: np.argsort(rng.random((100, 30)), axis=0) + 1,
    "percent": lambda rng: rng.integers(0, 101, size=(200, 20)),
    "bytes": lambda rng: rng.integers(0, 256, size=(300, 50)),
    "low rank": lambda rng: rng.normal(size=(90, 2)) @ rng.normal(size=(2, 80)),
    "two groups": lambda rng: rng.normal(size=(90, 20)) + 40 * (np.arange(90) < 30)[:, None],
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_sound_data_raise_no_doubts(name):
    for seed in range(5):
        values = FINE[name](np.random.default_rng(seed))
        assert find_doubts(table(values)) == []
        assert find_doubts(table(values), standardize=True) == []


@pytest.mark.parametrize("name", ["digits", "diabetes", "iris", "linnerud"])
def test_known_data_raise_no_doubts(name):
    assert find_doubts(table(getattr(datasets, f"load_{name}")().data)) == []


@pytest.mark.filterwarnings("ignore")
def test_single_cell_data_raise_no_doubts():
    scanpy = pytest.importorskip("scanpy")
    data = scanpy.datasets.pbmc68k_reduced()
    assert find_doubts(table(data.raw.X.toarray())) == []
    assert find_doubts(table(data.X)) == []


@pytest.mark.parametrize(
    ("name", "widest", "narrowest"),
    [("wine", "proline", "nonflavanoid_phenols"), ("breast_cancer", "worst area", "fractal")],
)
def test_spreads_that_differ(name, widest, narrowest):
    data = getattr(datasets, f"load_{name}")()
    (doubt,) = find_doubts(table(data.data, data.feature_names))
    assert "--standardize" in doubt
    assert widest in doubt
    assert narrowest in doubt
    assert find_doubts(table(data.data, data.feature_names), standardize=True) == []


def test_spreads_after_logarithms():
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=(100, 10)) * 10.0 ** np.arange(10)
    assert "--standardize" in find_doubts(table(values))[0]
    assert find_doubts(table(values + 1), log1p=True) == []


CODES = [-9, 99, -99, 999, -999, 9999, -9999, 99.99, 1e20, -1e30, 32767, -32768, 9.96921e36, 997]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("kind", ["gaussian", "likert", "log-normal", "counts", "holes"])
def test_codes_for_missing_values(kind, code):
    rng = np.random.default_rng(0)
    values = {
        "gaussian": lambda: rng.normal(size=(100, 10)),
        "likert": lambda: rng.integers(1, 6, size=(100, 10)).astype(float),
        "log-normal": lambda: rng.lognormal(sigma=0.7, size=(100, 10)),
        "counts": lambda: rng.poisson(3, size=(100, 10)).astype(float),
        "holes": lambda: holes(rng.normal(size=(100, 10)), rng, 0.5),
    }[kind]()
    values[::7, 2] = values[:12, 5] = code
    doubt = find_doubts(table(values))[0]
    n_times = int((values == code).sum())
    assert f"occurs {n_times} times in columns 'c2', 'c5'" in doubt
    number = doubt.split("--missing ")[1]
    assert float(number) == code


@pytest.mark.parametrize("codes", [[9], [8, 9], [99], [98, 99], [-9]])
def test_codes_in_questionnaires(codes):
    rng = np.random.default_rng(0)
    values = rng.integers(1, 6, size=(80, 12)).astype(float)
    for code in codes:
        values[rng.random(values.shape) < 0.03] = code
    doubts = find_doubts(table(values))
    assert {float(doubt.split("--missing ")[1]) for doubt in doubts} == set(codes)


def test_a_value_that_is_usual_elsewhere_is_no_code():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 120, size=(200, 10)).astype(float)
    values[:, 0] = rng.integers(1, 6, size=200)
    values[:3, 0] = 99
    assert find_doubts(table(values)) == []
    values[:, 1:9] = rng.integers(1, 6, size=(200, 8))
    values[:20, 1:9] = 99
    assert "99 occurs 163 times" in find_doubts(table(values))[0]


@pytest.mark.parametrize(
    ("name", "column", "words"),
    [
        ("number", np.arange(1, 61), "looks like an identifier"),
        ("shuffled", np.random.default_rng(0).permutation(60) + 100, "looks like an identifier"),
        ("patient", np.random.default_rng(0).permutation(5000)[:60] + 1000, "an identifier"),
        ("visit", np.cumsum(np.arange(1, 61)), "looks like an identifier"),
        ("day", 20230101 + np.arange(60) % 28, "dates written as numbers (20230101"),
        ("x", np.arange(60) % 30 + 1990, "looks like years (1990 to 2019)"),
        ("y", 43831 + np.arange(60) % 50, "as Excel counts them (43831 is 2020-01-01)"),
        ("z", 1_600_000_000 + 977 * np.arange(60) % 999, "seconds since 1970"),
    ],
)
def test_identifiers_and_dates_among_measurements(name, column, words):
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(60, 5)), column])
    doubts = find_doubts(table(values, ["a", "b", "c", "d", "e", name]))
    (doubt,) = [doubt for doubt in doubts if words in doubt]
    assert f"--exclude '{name}'" in doubt
    assert len(doubts) == 1


def test_outlying_cells():
    rng = np.random.default_rng(0)
    values = rng.normal(17, 2, size=(100, 6))
    values[3, 1] = 1700
    (doubt,) = find_doubts(table(values))
    assert "row 'r3', column 'c1' is 1700 (median 1" in doubt
    values[5, 2] = -8000
    values[6, 2] = 5000
    (doubt,) = find_doubts(table(values), standardize=True)
    assert doubt.startswith("Cells far from all others of their columns: row")
    assert doubt.index("-8000") < doubt.index("5000") < doubt.index("1700")


def test_rows_and_columns_with_hardly_any_entries():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 20))
    values[4, 2:] = np.nan
    values[7, 1:] = np.nan
    values[:, 9] = np.nan
    values[3, 9] = 1.0
    values[11] = np.nan
    rows, columns = find_doubts(table(values))
    assert rows.startswith("Rows with one or two entries only: 'r4', 'r7'")
    assert columns.startswith("Columns with one or two entries only: 'c9'")
    assert find_doubts(table(values[:, :2])) == []


@given(
    hnp.arrays(
        float,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=14),
        elements=st.one_of(
            st.sampled_from([0.0, 1.0, 9.0, -999.0, 1e300, -1e300, 5e-324, np.nan, 20200101.0]),
            st.floats(allow_infinity=False),
        ),
    )
)  # fmt: skip
def test_any_values_give_sentences(values):
    doubts = find_doubts(table(values))
    assert doubts == find_doubts(table(values.copy()))
    assert all(isinstance(doubt, str) and doubt for doubt in doubts)


@given(matrices(), st.integers(0, 1000), st.booleans())
def test_the_order_of_the_columns_does_not_matter(values, seed, standardize):
    order = np.random.default_rng(seed).permutation(values.shape[1])
    names = np.array([f"c{j}" for j in range(values.shape[1])])
    one = find_doubts(table(values, names), standardize=standardize)
    other = find_doubts(table(values[:, order], names[order]), standardize=standardize)
    assert one == other


def test_a_large_matrix_takes_little_time_and_memory():
    values = np.random.default_rng(0).normal(size=(5000, 1000))
    values[:50, :20] = -999
    big = table(values)
    tracemalloc.start()
    began = time.perf_counter()
    (doubt,) = find_doubts(big)
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "-999 occurs 1,000 times" in doubt
    assert peak < 4 * 8 * (1 << 21) + values.nbytes
    assert seconds < 10


def test_columns_named_like_identifiers_that_repeat():
    values = np.random.default_rng(0).normal(size=(12, 6))
    values[:, 0] = np.repeat([1, 2, 3, 4], 3)
    names = ["record_id", "a", "b", "c", "d", "e"]
    doubts = find_doubts(Table(values, [f"r{i}" for i in range(12)], names))
    assert any("'record_id' is named like an identifier and repeats" in doubt for doubt in doubts)


def test_positions_on_the_genome_with_counts():
    values = np.random.default_rng(0).integers(0, 50, size=(20, 6)).astype(float)
    values[:, 0] = np.arange(20) * 1000 + 7
    values[:, 1] = values[:, 0] + 500
    names = ["Start", "End", "Length", "a.bam", "b.bam", "c.bam"]
    doubts = find_doubts(Table(values, [f"g{i}" for i in range(20)], names))
    for name in names[:3]:
        assert any(f"'{name}' looks like a position or length" in doubt for doubt in doubts)
