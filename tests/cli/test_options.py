"""Options, output and errors that commands share."""

import click
import pytest

from comanifold.cli._output import Output, ProgressBar, RunBar, duration, plain_errors

SECTIONS = {
    "fit": ["Results", "Preprocessing", "Reading the table", "Model", "Output options"],
    "impute": ["Results", "Preprocessing", "Reading the table", "Model", "Output options"],
    "compare": ["Comparison", "Preprocessing", "Reading the table", "Model", "Output options"],
    "transform": ["Results", "Reading the table", "Output options"],
    "inspect": ["Reading the table", "Output options"],
    "report": ["Report", "Output options"],
    "demo": ["Results", "Output options"],
}


@pytest.mark.parametrize("command", SECTIONS)
def test_help_lists_options_by_group_and_ends_with_examples(comanifold, command):
    text = comanifold(command, "--help").text
    places = [text.index(f"\n{section}") for section in [*SECTIONS[command], "Examples:"]]
    assert places == sorted(places)
    assert f"Examples:\n  comanifold {command}" in text
    assert text.index("--json") < text.index("--help") < places[-1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option '--out'"),
        (["-o", "out", "--alpha", "none"], "not a valid float"),
        (["-o", "out", "--alpha", "-1"], "only with --scale-weights cost"),
        (["-o", "out", "--neighbors", "1,2,3"], "is not a positive integer, or two"),
        (["-o", "out", "--neighbors", "0"], "not a positive integer"),
        (["-o", "out", "--bandwidth", "wide"], "'wide' is not"),
        (["-o", "out", "--penalty", "ridge"], "'ridge' is not one of"),
        (["-o", "out", "--absent", "maybe"], "'maybe' is not one of"),
        (["-o", "out", "--labels", "g", "--no-labels"], "exclude each other"),
    ],
)
def test_invalid_options(comanifold, file, options, words):
    assert words in comanifold("fit", file, *options, code=2).error


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


def test_lines_are_broken_between_words_on_a_terminal_only(capsys, monkeypatch):
    line = "  clusters   " + "words and more words " * 6
    Output().say(line)
    assert capsys.readouterr().out == f"{line}\n"
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    Output().section("clusters", [line.split(maxsplit=1)[1], "short"])
    Output().say("  one\u00a0" + "x" * 80)
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown[:4])) <= 60
    assert shown[0].startswith("  clusters   words")
    assert shown[1].startswith(" " * 15 + "and")
    assert "             short" in shown
    assert shown[-1].endswith("x" * 80)  # names are not broken


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


def test_progress_in_time_shows_what_is_left(capsys):
    with ProgressBar("fitting") as bar:
        bar.show(0.25, 30.2, "solving")
    assert capsys.readouterr().err == "25%, about 30 s left: fitting: solving\n"


def test_a_terminal_shows_one_bar_with_the_time_left(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with RunBar({"fitting": 50.0, "writing": 50.0}) as bar:
        bar.begin("fitting")
        bar.update(0.5, "solving")
        bar.begin("writing")
    shown = capsys.readouterr().err
    assert "writing" in shown
    assert "s left" in shown


def test_a_quiet_run_shows_nothing(capsys):
    with RunBar({"fitting": 50.0}, quiet=True) as bar:
        bar.begin("fitting")
        bar.update(0.5, "solving")
    assert capsys.readouterr() == ("", "")


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
