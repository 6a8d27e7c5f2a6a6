"""Real data: from a file, from a folder, and from a server that may be wrong or unreachable."""

import hashlib
import http.server
import sys
import threading

import numpy as np
import pytest

from comanifold.datasets import _loaders, load_lung500, load_president

TEXT = b'"","Normal_1","Colon_1","Normal_2"\n"gene a",1.5,2,3\n"gene b",4,5,-6e-1\n'


@pytest.fixture
def published(monkeypatch):
    """A small file in place of the published one."""
    monkeypatch.setitem(_loaders._SHA256, "lung500.csv", hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setitem(_loaders._SHA256, "president.csv", hashlib.sha256(TEXT).hexdigest())


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of tmp_path / "served", an empty cache, and no folder of data."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=folder)

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    monkeypatch.setattr(_loaders, "_SOURCE", f"http://127.0.0.1:{running.server_port}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COMANIFOLD_DATA", raising=False)
    yield folder
    running.shutdown()
    thread.join()
    running.server_close()


def assert_as_written(data):
    np.testing.assert_array_equal(data.X, [[1.5, 2, 3], [4, 5, -0.6]])
    assert list(data.row_names) == ["gene a", "gene b"]
    assert list(data.column_names) == ["Normal_1", "Colon_1", "Normal_2"]


@pytest.mark.usefixtures("published")
def test_from_a_file_and_from_a_folder(tmp_path, monkeypatch):
    (tmp_path / "lung500.csv").write_bytes(TEXT)
    data = load_lung500(tmp_path / "lung500.csv")
    assert_as_written(data)
    assert list(data.label_names[data.column_labels]) == ["Normal", "Colon", "Normal"]
    assert_as_written(load_lung500(tmp_path))
    monkeypatch.setenv("COMANIFOLD_DATA", str(tmp_path))
    assert_as_written(load_lung500())
    (tmp_path / "president.csv").write_bytes(TEXT)
    assert_as_written(load_president())


def test_a_missing_file_and_one_that_is_not_the_published(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"lung500\.csv was not found: path is"):
        load_lung500(tmp_path)
    monkeypatch.setenv("COMANIFOLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="COMANIFOLD_DATA is"):
        load_lung500()
    (tmp_path / "lung500.csv").write_bytes(TEXT)
    with pytest.raises(ValueError, match=r"is not the published lung500\.csv: its sha256 is"):
        load_lung500(tmp_path)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestDownload:
    @pytest.mark.usefixtures("published")
    def test_once_and_checked(self, server):
        (server / "lung500.csv").write_bytes(TEXT)
        assert_as_written(load_lung500())
        (server / "lung500.csv").unlink()  # from now on it comes from the cache
        assert_as_written(load_lung500())

    @pytest.mark.usefixtures("published")
    def test_another_file_is_not_kept(self, server):
        (server / "lung500.csv").write_bytes(TEXT + b"\n")
        with pytest.raises(ValueError, match=r"downloaded lung500\.csv is not the published file"):
            load_lung500()
        (server / "lung500.csv").write_bytes(TEXT)
        assert_as_written(load_lung500())

    @pytest.mark.usefixtures("server")
    def test_a_server_that_does_not_have_it(self):
        with pytest.raises(OSError, match=r"lung500\.csv could not be downloaded from"):
            load_lung500()

    @pytest.mark.usefixtures("server")
    def test_no_network(self, monkeypatch):
        monkeypatch.setattr(_loaders, "_SOURCE", "http://127.0.0.1:9")
        with pytest.raises(OSError, match="Set COMANIFOLD_DATA to a folder"):
            load_lung500()

    @pytest.mark.usefixtures("server")
    def test_without_pooch(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pooch", None)
        with pytest.raises(ImportError, match=r"pip install comanifold\[data\]"):
            load_lung500()


def test_the_published_files(lung500_labelled):
    X, diagnoses = lung500_labelled
    data = load_lung500()
    np.testing.assert_array_equal(data.X, X)
    assert list(data.label_names[data.column_labels]) == diagnoses
    assert dict(zip(*np.unique(diagnoses, return_counts=True), strict=True)) == {
        "Carcinoid": 20,
        "Colon": 13,
        "Normal": 17,
        "SmallCell": 6,
    }
    president = load_president()
    assert president.X.shape == (44, 75)
    assert np.isfinite(president.X).all()
