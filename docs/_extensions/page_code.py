"""The code of a page in Markdown, and how it is run: Python, and commands that begin with `$`."""

import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# How long a command of a page may take; the first fit of an installation compiles.
_SECONDS = 900


@dataclass(frozen=True)
class Block:
    """A piece of code on a page, the line on which it begins, and its language."""

    language: str
    code: str
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command of ours; other lines are output, or other programs."""
        lines = self.code.replace("\\\n", " ").splitlines()
        words = [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]
        return [command for command in words if command and command[0] == "comanifold"]


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks that say they are python or console, in the order of the page."""
    for match in _FENCE.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 1)


def run_page(path: Path, folder: Path, *, commands: bool = True) -> int:
    """Run the code of a page in one namespace and one folder, and say how many blocks that were."""
    names = {"__name__": path.stem}
    n_run = 0
    with contextlib.chdir(folder):
        for block in blocks_of(path.read_text(encoding="utf-8")):
            if block.language == "python":
                # The lines of an error are those of the page.
                code = "\n" * block.line + block.code
                exec(compile(code, str(path), "exec"), names)
                n_run += 1
            elif commands:
                for command in block.commands:
                    _run(command, f"{path.name}, line {block.line}")
                    n_run += 1
    return n_run


def _run(command: list[str], place: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{place}: {shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
