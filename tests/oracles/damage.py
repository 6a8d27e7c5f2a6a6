"""Files that are damaged, or made to do harm."""

import io
import os
import zipfile

import numpy as np
from hypothesis import strategies as st

# Values that do not fit where a number, a text, a list or a truth value is expected.
ODD_JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**63, -(10**400), 1e300, float("inf"), float("nan")]),
    st.text(max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.sampled_from(["penalty", "x"]), st.sampled_from([1, "Log", []]), max_size=2),
)

ODD_ARRAYS = [
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((2, 2)),
    np.full(3, np.nan),
    np.array(7.0),
    np.arange(6),
    np.array([-1, 2**40]),
    np.array(["a", "b"]),
    np.array([True, False, True]),
    np.zeros(2, dtype=[("a", float), ("b", "S3")]),
    np.zeros(4, dtype="V0"),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.ones((1, 1, 1), dtype=complex),
]


class Bomb:
    """Makes a directory where a pickle of it is loaded."""

    def __init__(self, directory):
        self._directory = str(directory)

    def __reduce__(self):
        return os.mkdir, (self._directory,)


@st.composite
def damaged(draw, content):
    """Bytes cut short, changed, left out, put in, or repeated."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.sampled_from([1, 1, 2, 4, 8, 100]))
        how = draw(st.sampled_from(["cut", "change", "fill", "leave out", "put in", "repeat"]))
        if how == "cut":
            del content[at:]
        elif how == "change":
            for place in range(at, min(at + length, len(content))):
                content[place] ^= draw(st.integers(1, 255))
        elif how == "fill":
            content[at : at + length] = draw(st.sampled_from([b"\0", b"\xff", b"9"])) * length
        elif how == "leave out":
            del content[at : at + length]
        elif how == "put in":
            content[at:at] = draw(st.binary(min_size=1, max_size=8))
        else:
            content[at:at] = content[at : at + length]
    return bytes(content)


def as_npy(array, **options):
    """The content of an NPY file."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npy_declaring(shape, dtype="<f8", content=b""):
    """An NPY file whose header says what it likes."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def archive(members, compression=zipfile.ZIP_STORED):
    """The content of a ZIP file with these members, by name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, content in members.items():
            # Without the time: the same members give the same bytes.
            file.writestr(zipfile.ZipInfo(name), content, compression)
    return stream.getvalue()


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def places_in(value, path=()):
    """Where the parts of something read from JSON are."""
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for key, part in parts:
        yield from places_in(part, (*path, key))


def with_part(value, path, part):
    """A copy of something read from JSON with another part in one place."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = with_part(value[path[0]], path[1:], part)
    return copy
