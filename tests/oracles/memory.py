"""How much memory a piece of code takes, measured in a process of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_STATUS = Path("/proc/self/status")

# The peak of a process that was started by a large one counts that one's too in ru_maxrss.
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
    """What was said, and by how many MB the memory of a process grew in a line of code."""
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
