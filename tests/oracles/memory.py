"""The peak memory of a piece of code, measured in its own process."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_STATUS = Path("/proc/self/status")

# Not ru_maxrss, which includes the peak of the parent process.
_MEASURED = """
import sys
from pathlib import Path

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024

from comanifold.tables import TableError, read_table
{before}
start = peak()
try:
    {code}
    print("read")
except TableError as error:
    print("refused:", error)
print(peak() - start)
"""


def peak_growth(code, before="", timeout=60):
    """Return the output of a line of code, and by how many MB it raised the peak memory."""
    if not _STATUS.exists():
        pytest.skip("memory is measured on Linux only")
    program = _MEASURED.format(code=code, before=textwrap.dedent(before))
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *told, grown = done.stdout.splitlines()
    return "\n".join(told), int(grown)
