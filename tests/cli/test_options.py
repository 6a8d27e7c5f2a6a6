"""Groups of options: one section of the help, and one argument of the command."""

import pytest

SECTIONS = {
    "fit": ["Results", "Preprocessing", "Reading the table", "Model", "Output options"],
    "impute": ["Results", "Preprocessing", "Reading the table", "Model", "Output options"],
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
        (["-o", "out", "--neighbors", "1,2,3"], "one for rows and one for columns"),
        (["-o", "out", "--neighbors", "0"], "neither"),
        (["-o", "out", "--bandwidth", "wide"], "'wide' is not"),
        (["-o", "out", "--penalty", "ridge"], "'ridge' is not one of"),
        (["-o", "out", "--absent", "maybe"], "'maybe' is not one of"),
        (["-o", "out", "--labels", "g", "--no-labels"], "exclude each other"),
    ],
)
def test_invalid_options(comanifold, file, options, words):
    assert words in comanifold("fit", file, *options, code=2).error
