"""Extract and run the code of a Markdown page: Python, and commands that begin with `$`."""

import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Pages that are run when the site is built, because they show what they write.
RUN = ("quickstart", "tutorial", "fields")

# Time limit of a command; the first fit of an installation compiles.
_SECONDS = 900


@dataclass(frozen=True)
class Block:
    """A block of code on a page: its language, its text and its first line."""

    language: str
    code: str
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The words of each `comanifold` command."""
        return [words for words, _ in self.shown]

    @property
    def shown(self) -> list[tuple[list[str], list[str]]]:
        """The words of each `comanifold` command, and the output that the page shows."""
        found: list[tuple[list[str], list[str]]] = []
        for line in self.code.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:], comments=True), []))
            elif found:
                found[-1][1].append(line)
        return [(words, output) for words, output in found if words[:1] == ["comanifold"]]


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the python and console blocks of a page, in order."""
    for match in _FENCE.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 1)


def run_page(path: Path, folder: Path, *, commands: bool = True) -> int:
    """Run the code of a page in one namespace and one folder; return the number of runs."""
    names = {"__name__": path.stem}
    n_run = 0
    with contextlib.chdir(folder):
        for block in blocks_of(path.read_text(encoding="utf-8")):
            if block.language == "python":
                # So that line numbers of errors are those of the page.
                code = "\n" * block.line + block.code
                exec(compile(code, str(path), "exec"), names)
                n_run += 1
            elif commands:
                for command, shown in block.shown:
                    _run(command, shown, f"{path.name}, line {block.line}")
                    n_run += 1
    return n_run


def _run(command: list[str], shown: list[str], place: str) -> None:
    """Run a command and check its output against the page, ignoring numbers."""
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{place}: {shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    printed = [_without_numbers(line) for line in done.stdout.splitlines()]
    for line in shown:
        # Three dots stand for the rest of a line.
        start = _without_numbers(line.removesuffix("..."))
        if not any(other.startswith(start) for other in printed):
            raise RuntimeError(f"{place}: the page shows {line!r}, but there was\n{done.stdout}")


def _without_numbers(line: str) -> str:
    """Return the line with every number and every time replaced by #."""
    return re.sub(r"\ba second\b|\d[\d.,]*( s| min| hours)?\b", "#", line)
