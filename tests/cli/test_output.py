"""Text, JSON, progress and errors of commands."""

import click
import pytest

from comanifold.cli._output import Output, ProgressBar, duration, plain_errors


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "a second"), (5.4, "5 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 hours")],
)
def test_durations_are_rounded(seconds, text):
    assert duration(seconds) == text


def test_text_or_json_or_nothing(capsys):
    for options, printed in (
        ({}, "a line\n"),
        ({"as_json": True}, '{\n "n": 1\n}\n'),
        ({"quiet": True}, ""),
    ):
        output = Output(**options)
        output.say("a line")
        output.result({"n": 1})
        assert capsys.readouterr().out == printed


def test_progress_without_a_terminal_is_a_line_now_and_then(capsys):
    with ProgressBar("fitting") as bar:
        bar.update(0, 3, "solving")
        bar.update(1, 3, "solving")
        bar.update(3, 3, "solving")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["0 of 3: fitting: solving", "3 of 3: fitting: solving"]
    with ProgressBar(transient=True) as bar:
        bar.update(1, 3, "solving")
    with ProgressBar(quiet=True) as bar:
        bar.update(3, 3, "solving")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no column"), "no column"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "--distances sparse"),
        (ImportError("needs plotly"), "needs plotly"),
    ],
)
def test_expected_errors_are_one_line(error, message):
    with pytest.raises(click.ClickException) as shown, plain_errors():
        raise error
    assert message in shown.value.message
    assert "\n" not in shown.value.message


def test_other_errors_keep_their_traceback():
    with pytest.raises(KeyError), plain_errors():
        raise KeyError("a mistake of ours")
    with pytest.raises(click.Abort), plain_errors():
        raise click.Abort
