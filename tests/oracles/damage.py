"""Damaged and malicious files."""

import hashlib
import io
import json
import os
import zipfile

import numpy as np
from hypothesis import strategies as st

# Wrong values where a number, a text, a list or a boolean is expected.
ODD_JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**63, -(10**400), 1e300, float("inf"), float("nan")]),
    st.text(max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(
        st.sampled_from(["class", "x"]), st.sampled_from([1, "Log", "DiffusionMap"]), max_size=2
    ),
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
    """Draw bytes that are truncated, changed, removed, inserted or repeated."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.sampled_from([1, 1, 2, 4, 8, 100]))
        how = draw(st.sampled_from(["truncate", "change", "fill", "remove", "insert", "repeat"]))
        if how == "truncate":
            del content[at:]
        elif how == "change":
            for place in range(at, min(at + length, len(content))):
                content[place] ^= draw(st.integers(1, 255))
        elif how == "fill":
            content[at : at + length] = draw(st.sampled_from([b"\0", b"\xff", b"9"])) * length
        elif how == "remove":
            del content[at : at + length]
        elif how == "insert":
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
    """The content of an NPY file whose header declares any shape and dtype."""
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


def edit_json(folder, change):
    """Change the description of a saved model."""
    path = folder / "model.json"
    description = json.loads(path.read_text())
    change(description)
    path.write_text(json.dumps(description))


def edit_arrays(folder, change, compression=zipfile.ZIP_STORED):
    """Change the arrays of a saved model, by file name, and correct the checksum."""
    members = members_of(folder / "arrays.npz")
    change(members)
    (folder / "arrays.npz").write_bytes(archive(members, compression))
    fix_checksum(folder)


def fix_checksum(folder):
    digest = hashlib.sha256((folder / "arrays.npz").read_bytes()).hexdigest()
    edit_json(folder, lambda description: description.update({"arrays (sha256)": digest}))


def places_in(value, path=()):
    """Yield the paths of all parts of a JSON value."""
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for key, part in parts:
        yield from places_in(part, (*path, key))


def with_part(value, path, part):
    """A copy of a JSON value with the part at a path replaced."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = with_part(value[path[0]], path[1:], part)
    return copy
