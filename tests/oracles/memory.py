"""The peak memory of reading a file, measured in its own process."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

_STATUS = Path("/proc/self/status")

# Not ru_maxrss, which includes the peak of the parent process.
_PROGRAM = """
import sys
from pathlib import Path

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024

from comanifold.tables import TableError, read_table
for path, options in {calls!r}:
    before = peak()
    try:
        read_table(path, **options)
        print("read")
    except TableError as error:
        print("refused:", error)
    print(peak() - before)
"""


def peak_of_reading(path, warm_up=None, timeout=60, **options):
    """Return "read" or the error of reading a file, and by how many MB the memory grew.

    The file `warm_up` is read first, so that imports do not count.
    """
    if not _STATUS.exists():
        pytest.skip("memory is measured on Linux only")
    calls = [] if warm_up is None else [(str(warm_up), {})]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(calls=[*calls, (str(path), options)])],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *_, result, grown = done.stdout.splitlines()
    return result, int(grown)


def write_gzip(path, *parts):
    """Write a small gzip file of texts, each repeated for so many MB; return its path."""
    with gzip.open(path, "wb", 9) as file:
        for text, n_megabytes in parts:
            block = text.encode() * max((1 << 20) // len(text), 1)
            for _ in range(n_megabytes):
                file.write(block)
    assert path.stat().st_size < 1 << 20
    return path
