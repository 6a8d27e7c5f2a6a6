"""`comanifold impute` and `comanifold transform`: from a table to another table."""

import numpy as np
import pytest

from comanifold import CoManifold, _io
from comanifold.datasets import make_curve, remove_entries
from comanifold.tables import Table, read_table, write_table


@pytest.mark.parametrize("out", ["full.csv", "full.tsv.gz", "full.npz", "full.parquet"])
def test_missing_entries_are_filled_in_and_others_unchanged(comanifold, file, board, observed, out):
    if out.endswith("parquet"):
        pytest.importorskip("pyarrow")
    found = comanifold("impute", file, "-o", out, "--json").json
    filled = read_table(out)
    np.testing.assert_array_equal(filled.values[observed], board.table.values[observed])
    np.testing.assert_array_equal(filled.values, CoManifold().fit(board.table.values).filled_)
    assert (filled.row_names, filled.column_names) == (
        board.table.row_names,
        board.table.column_names,
    )
    assert found["n_filled"] == int((~observed).sum())
    assert found["n_left"] == 0
    assert "--force" in comanifold("impute", file, "-o", out, code=1).error
    comanifold("impute", file, "-o", out, "--force", "-q")


def test_a_transposed_table_is_written_in_its_own_orientation(comanifold, file, board, observed):
    comanifold("impute", file, "-o", "full.csv", "--transpose", "--standardize", "-q")
    filled = read_table("full.csv")
    assert filled.row_names == board.table.row_names
    np.testing.assert_array_equal(filled.values[observed], board.table.values[observed])


def test_files_that_cannot_be_written_or_read_are_errors(comanifold, file, tmp_path):
    assert "should end with one of" in comanifold("impute", file, "-o", "x.xls", code=1).error
    (tmp_path / "there.csv").mkdir()
    assert "is a folder" in comanifold("impute", file, "-o", "there.csv", code=1).error
    assert "no such file" in comanifold("impute", "no.csv", "-o", "x.csv", code=1).error
    assert {entry.name for entry in tmp_path.iterdir()} == {"board.csv", "there.csv"}


def test_an_existing_file_is_kept_as_a_backup(comanifold, file, tmp_path):
    (tmp_path / "filled.csv").write_text("mine")
    assert "--force" in comanifold("impute", file, "-o", "filled.csv", code=1).error
    text = comanifold("impute", file, "-o", "filled.csv", "--force").text
    assert "kept as filled.csv.bak" in text
    assert (tmp_path / "filled.csv.bak").read_text() == "mine"
    assert (tmp_path / "filled.csv").read_text().startswith("gene,")


def bounds_of(name, **options):
    return [
        read_table(name.replace("x.", f"x.{bound}."), **options) for bound in ("lower", "upper")
    ]


@pytest.mark.parametrize("out", ["x.csv", "x.tsv.gz", "x.npz"])
def test_bounds_are_written_beside_the_table(comanifold, file, board, observed, out):
    found = comanifold("impute", file, "-o", out, "--interval", 0.8, "--json").json
    names = [out.replace("x.", f"x.{bound}.") for bound in ("lower", "upper")]
    assert (found["interval"], found["bounds"]) == (0.8, names)
    model = CoManifold().fit(board.table.values)
    for table, bound in zip(bounds_of(out), model.filled_interval(0.8), strict=True):
        np.testing.assert_array_equal(table.values, bound)
        np.testing.assert_array_equal(table.values[observed], board.table.values[observed])
        assert table.row_names == board.table.row_names
        assert table.column_names == board.table.column_names
    plain = comanifold("impute", file, "-o", f"only.{out}", "--json").json
    assert (plain["interval"], plain["bounds"]) == (None, [])


def test_as_many_entries_are_between_the_bounds_as_asked_for(comanifold, tmp_path):
    truth = 10 + make_curve(120, 80, noise=0.3, random_state=0).X
    X = remove_entries(truth, 0.4, random_state=1)
    names = [f"r{i}" for i in range(120)], [f"c{j}" for j in range(80)]
    write_table(tmp_path / "t.csv", Table(X, *names))
    comanifold("impute", "t.csv", "-o", "x.csv", "--interval", 0.9, "--log1p", "--standardize")
    filled = read_table("x.csv").values
    lower, upper = (table.values for table in bounds_of("x.csv"))
    missing = np.isnan(X)
    assert (lower[missing] < filled[missing]).all()
    assert (filled[missing] < upper[missing]).all()
    covered = ((lower <= truth) & (truth <= upper))[missing].mean()
    assert 0.87 < covered < 0.93
    # Not because they are wide.
    assert np.median((upper - lower)[missing]) < 2.5 * truth.std()
    np.testing.assert_array_equal(lower[~missing], X[~missing])


def test_bounds_have_the_orientation_and_the_text_columns_of_the_file(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    values = np.where(rng.random((30, 8)) < 0.2, np.nan, rng.normal(size=(30, 8)))
    texts = {"rows": {"sex": ["f", "m"] * 15}}
    names = [f"p{i}" for i in range(30)], [f"c{j}" for j in range(8)]
    write_table(tmp_path / "t.csv", Table(values, *names, annotations=texts), annotations=True)
    comanifold("impute", "t.csv", "-o", "x.csv", "--interval", 0.5, "--transpose", "-q")
    lower, upper = bounds_of("x.csv")
    for table in (lower, upper):
        assert table.row_names == names[0]
        assert table.annotations["rows"]["sex"] == ["f", "m"] * 15
    observed = ~np.isnan(values)
    assert (lower.values < upper.values)[~observed].all()
    np.testing.assert_array_equal(upper.values[observed], values[observed])


@pytest.mark.parametrize("preprocessing", [(), ("--log1p",)])
def test_bounds_that_are_infinite_are_empty_with_a_warning(
    comanifold, file, observed, preprocessing
):
    options = ("--scale-weights", "cost", "--interval", 0.9, *preprocessing)
    text = comanifold("impute", file, "-o", "x.csv", *options).text
    assert "Warning: 0 entries were held out, too few for intervals of coverage 0.9" in text
    assert np.isfinite(read_table("x.csv").values).all()
    for table in bounds_of("x.csv"):
        np.testing.assert_array_equal(np.isnan(table.values), ~observed)


@pytest.mark.parametrize("value", ["0", "1", "90", "-0.5", "nan", "wide"])
def test_an_invalid_interval_is_an_error_that_names_the_option(comanifold, file, value):
    error = comanifold("impute", file, "-o", "x.csv", "--interval", value, code=2).error
    assert "--interval" in error
    assert f"'{value}' is not a number between 0 and 1, such as 0.9" in error


def test_existing_bounds_are_refused_or_kept(comanifold, file, tmp_path, monkeypatch):
    (tmp_path / "x.upper.csv").write_text("mine")
    options = ("impute", file, "-o", "x.csv", "--interval", 0.9)
    with monkeypatch.context() as patch:
        patch.setattr(CoManifold, "fit", lambda *_, **__: pytest.fail("it was fitted"))
        error = comanifold(*options, code=1).error
        assert "x.upper.csv already exists" in error
        (tmp_path / "x.lower.csv").symlink_to("x.csv")
        assert "is a link to" in comanifold(*options, "--force", code=1).error
        (tmp_path / "x.lower.csv").unlink()
    assert {entry.name for entry in tmp_path.iterdir()} == {"board.csv", "x.upper.csv"}
    text = comanifold(*options, "--force").text
    assert "kept as x.upper.csv.bak" in text
    assert (tmp_path / "x.upper.csv.bak").read_text() == "mine"
    assert "Bounds of 90% intervals: x.lower.csv, x.upper.csv" in text


def test_space_is_reserved_for_bounds_too(comanifold, file, board, monkeypatch):
    asked = []
    monkeypatch.setattr(_io, "check_space", lambda _folder, n_bytes: asked.append(n_bytes))
    for options in ((), ("--interval", 0.9)):
        comanifold("impute", file, "-o", f"{len(options)}.csv", "-q", *options)
    assert asked == [24 * board.table.values.size, 3 * 24 * board.table.values.size]


@pytest.fixture
def results(comanifold, file):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet", "--standardize")
    return CoManifold.load("out/model")


def shuffled(table, axis):
    order = np.random.default_rng(0).permutation(table.values.shape[axis])
    names = [table.row_names, table.column_names]
    names[axis] = [names[axis][i] for i in order]
    return Table(table.values.take(order, axis), *names, corner="label")


def test_rows_are_placed_where_they_were_in_any_order_of_columns(
    comanifold, results, board, tmp_path
):
    write_table(tmp_path / "new.csv", shuffled(board.table, 1))
    text = comanifold("transform", "out", "new.csv", "-o", "placed.csv").text
    assert "40 rows placed: placed.csv" in text
    placed = read_table("placed.csv", header=True, delimiter=",")
    np.testing.assert_allclose(placed.values, results.row_embedding_, atol=1e-6)
    assert placed.row_names == board.table.row_names
    assert placed.column_names == ["coordinate_1", "coordinate_2"]
    comanifold("transform", "out/model", "new.csv", "-o", "again.csv", "-q")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "placed.csv").read_bytes()


def test_columns_are_placed_too(comanifold, results, board, tmp_path):
    write_table(tmp_path / "new.csv", shuffled(board.table, 0))
    comanifold("transform", "out", "new.csv", "--new", "columns", "-o", "placed.csv", "-q")
    placed = read_table("placed.csv", header=True, delimiter=",")
    np.testing.assert_allclose(placed.values, results.column_embedding_, atol=1e-6)
    assert placed.row_names == board.table.column_names


@pytest.mark.usefixtures("results")
def test_missing_labels_are_named(comanifold, board, tmp_path):
    table = board.table
    write_table(
        tmp_path / "new.csv", Table(table.values[:, 2:], table.row_names, table.column_names[2:])
    )
    error = comanifold("transform", "out", "new.csv", "-o", "placed.csv", code=1).error
    assert "lacks 2 of the 30 columns of the fit: 'spalte\\n0 é', 'spalte\\n1 é'" in error
    write_table(tmp_path / "new.csv", table.transposed())
    error = comanifold("transform", "out", "new.csv", "-o", "placed.csv", code=1).error
    assert "use --transpose" in error
    comanifold("transform", "out", "new.csv", "--transpose", "-o", "placed.csv", "-q")
    assert "no saved model" in comanifold("transform", ".", "new.csv", "-o", "x.csv", code=1).error


def test_without_labels_the_order_is_that_of_the_fit(comanifold, results, board, tmp_path):
    np.save(tmp_path / "new.npy", board.table.values[:5])
    text = comanifold("transform", "out", "new.npy", "-o", "placed.csv").text
    assert "in the order of the fit" in text
    placed = read_table("placed.csv", header=True, delimiter=",").values
    np.testing.assert_allclose(placed, results.row_embedding_[:5], atol=1e-6)
    np.save(tmp_path / "new.npy", board.table.values[:, :5])
    assert "lacks" in comanifold("transform", "out", "new.npy", "-o", "x.csv", code=1).error
    # Labels that only look like numbers are labels.
    other = [f"column {i}" for i in range(30, 0, -1)]
    write_table(tmp_path / "new.csv", Table(board.table.values, board.table.row_names, other))
    assert "lacks" in comanifold("transform", "out", "new.csv", "-o", "x.csv", code=1).error


def test_models_saved_from_python_can_be_used(comanifold, board, tmp_path):
    model = CoManifold().fit(board.table.values)
    model.save(tmp_path / "saved")
    np.save(tmp_path / "new.npy", board.table.values)
    comanifold("transform", "saved", "new.npy", "-o", "placed.npz", "-q")
    np.testing.assert_allclose(read_table("placed.npz").values, model.row_embedding_, atol=1e-6)
    np.save(tmp_path / "new.npy", board.table.values[:, :5])
    error = comanifold("transform", "saved", "new.npy", "-o", "x.csv", code=1).error
    assert "30 columns without labels" in error


def test_text_columns_are_written_or_said_to_be_left_out(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"p{i},{'fm'[i % 2]},{rng.normal():.3f},{rng.normal():.3f},{i % 4}" for i in range(12)]
    rows[3] = "p3,m,,1.5,2"
    (tmp_path / "t.csv").write_text("\n".join(["id,sex,a,b,c", *rows]) + "\n")
    text = comanifold("impute", "t.csv", "-o", "full.csv").text
    assert "Text columns were written after the labels: 'sex'." in text
    assert read_table("full.csv").annotations["rows"]["sex"] == ["f", "m"] * 6
    text = comanifold("impute", "t.csv", "-o", "full.npz").text
    assert "were left out: 'sex'" in text


def test_doubts_take_preprocessing_into_account(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 3)) * [1, 1, 5000]
    (tmp_path / "t.csv").write_text(
        "id,a,b,c\n" + "".join(f"p{i},{','.join(map(str, row))}\n" for i, row in enumerate(values))
    )
    plain = comanifold("impute", "t.csv", "-o", "plain.csv").text
    assert "use --standardize" in plain.split("Expected time")[0]
    prepared = comanifold("impute", "t.csv", "-o", "other.csv", "--standardize").text
    assert "use --standardize" not in prepared
