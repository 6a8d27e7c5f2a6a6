"""The encoding of a text file, from its first bytes."""

from pathlib import Path

from ._lines import open_binary

_BYTES_OF_SAMPLE = 1 << 13
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r")

# What Windows wrote before UTF-8; it differs from Latin-1 in quotes and dashes only.
LEGACY = "cp1252"


def detect_encoding(path: Path) -> str:
    """The encoding that a byte-order mark or a pattern of zero bytes tells; else UTF-8."""
    start = _start(path)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    even, odd = start[0::2], start[1::2]
    if len(odd) >= 4:
        if not even.count(0) and odd.count(0) * 10 > len(odd) * 8:
            return "utf-16-le"
        if not odd.count(0) and even.count(0) * 10 > len(even) * 8:
            return "utf-16-be"
    return "utf-8"


def may_be_legacy_text(path: Path) -> bool:
    """Whether a file that is not UTF-8 begins as text does, without control characters."""
    return _CONTROL.isdisjoint(_start(path))


def _start(path: Path) -> bytes:
    with open_binary(path) as file:
        return file.read(_BYTES_OF_SAMPLE)
