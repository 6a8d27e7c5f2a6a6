"""`comanifold reproduce`: options, errors, signals and clusters."""

import os
import signal
import subprocess
import sys
import time

import pytest

from comanifold._io import OwnedFolder
from comanifold.cli._reproduce import _NAMES
from comanifold.experiments import EXPERIMENTS


def comanifold(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "comanifold", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_help_lists_options_and_an_example():
    shown = comanifold("reproduce", "--help")
    assert shown.returncode == 0
    for word in ("--realizations", "--jobs", "--only", "--quick", "Figure 3", "Example:"):
        assert word in shown.stdout


def test_the_command_has_all_experiments():
    assert tuple(EXPERIMENTS) == _NAMES


def test_version():
    assert comanifold("--version").stdout.startswith("comanifold, version 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "everything"], "'everything' is not one of"),
        (["reproduce", "appendix", "--only", "filling"], "leaves nothing"),
        (["reproduce", "--realizations", "0"], "--realizations"),
        (["reproduce", "--jobs", "many"], "--jobs"),
        (["reproduced"], "No such command"),
    ],
)
def test_invalid_options_are_errors_without_a_traceback(arguments, words, tmp_path):
    result = comanifold(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("module", "package"), [("pandas", "pandas"), ("umap", "umap-learn")])
def test_a_missing_package_is_named_at_once(module, package, tmp_path):
    code = f"import sys; sys.modules[{module!r}] = None; from comanifold.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "reproduce", "appendix"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert result.returncode == 1
    assert f"this needs {package}: pip install 'comanifold[experiments]'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_missing_data_are_an_error_at_once(tmp_path):
    result = comanifold(
        "reproduce", "--out", tmp_path / "out", env={"COMANIFOLD_DATA": str(tmp_path)}
    )
    assert result.returncode == 1
    assert "lung500.csv was not found" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "results").write_text("mine")
    result = comanifold("reproduce", "appendix", cwd=tmp_path)
    assert result.returncode == 2
    assert "is a file" in result.stderr
    assert (tmp_path / "results").read_text() == "mine"


def test_a_scheduler_that_is_not_there(tmp_path):
    result = comanifold(
        "reproduce", "appendix", "--dask", "tcp://127.0.0.1:9", "--out", tmp_path / "out"
    )
    assert result.returncode == 1
    assert "no Dask scheduler at tcp://127.0.0.1:9" in result.stderr
    assert "Traceback" not in result.stderr


def tables(out):
    return {f: f.read_bytes() for f in out.glob("data/*/*.csv") if not f.name.startswith(".")}


def start(out, *arguments, **options):
    """Start the command, and return it once it has finished a part."""
    process = subprocess.Popen(
        [sys.executable, "-m", "comanifold", "reproduce", "appendix", "--out", out, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )
    deadline = time.monotonic() + 240
    while not tables(out) and time.monotonic() < deadline:
        time.sleep(0.01)
    return process


def running(group):
    """Return the number of processes in a group."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in table.stdout.splitlines()]
    return sum(int(pgid) == group and not stat.startswith("Z") for pgid, stat in rows)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(("name", "exit_code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_workers_and_says_how_to_resume(tmp_path, name, exit_code):
    process = start(tmp_path, "--jobs", "2")
    try:
        began = time.monotonic()
        os.killpg(process.pid, getattr(signal, name))
        _, error = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
        assert process.returncode == exit_code
        assert "run the same command to resume" in error
        assert "Traceback" not in error
        while running(process.pid) and time.monotonic() - began < 10:
            time.sleep(0.1)
        assert running(process.pid) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_folder_in_use_is_an_error(tmp_path):
    with OwnedFolder(tmp_path, "set of experiments"):
        second = comanifold("reproduce", "appendix", "--out", tmp_path)
    assert second.returncode == 1
    assert "in use by another run" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_a_full_disk_ends_the_run_and_leaves_existing_files(tmp_path):
    import resource

    process = start(tmp_path, "--jobs", "1")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = tables(tmp_path)
    result = comanifold(
        "reproduce",
        "appendix",
        "--out",
        tmp_path,
        "--jobs",
        "1",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        # Coverage would write files as well.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )
    assert result.returncode == 1
    assert "any existing file is unchanged: File too large" in result.stderr
    assert "Traceback" not in result.stderr
    assert tables(tmp_path) == before
    assert not list(tmp_path.glob("**/.comanifold-*"))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_dask_cluster_gives_the_same_tables_also_when_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        worker = next(iter(client.run(os.getpid).values()))
        process = start(tmp_path / "dask", "--dask", cluster.scheduler_address)
        os.kill(worker, signal.SIGKILL)
        printed, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert "claims" in printed or "tables" in printed
    assert comanifold("reproduce", "appendix", "--out", tmp_path / "here").returncode == 0
    files = list((tmp_path / "here" / "tables").iterdir())
    assert files
    for file in files:
        assert (tmp_path / "dask" / "tables" / file.name).read_bytes() == file.read_bytes()
