"""`comanifold reproduce` as a user meets it."""

import subprocess
import sys

import pytest


def comanifold(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "comanifold", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_help_says_what_there_is_and_how_to_begin():
    shown = comanifold("reproduce", "--help")
    assert shown.returncode == 0
    for word in ("--realizations", "--jobs", "--only", "--quick", "Figure 3", "Example:"):
        assert word in shown.stdout


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
def test_mistakes_are_told_without_a_traceback(arguments, words, tmp_path):
    result = comanifold(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_missing_data_are_told_at_once(tmp_path):
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
