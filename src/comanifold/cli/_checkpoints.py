"""Checkpoints of a fit to a results folder: where they are, and what was found in them."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._output import say_on_stderr

if TYPE_CHECKING:
    from .. import CoManifold

_NAME = re.compile("checkpoint-[0-9a-f]{8}-(fit|check)(-[0-9]+)?")

# Parameters of a model that do not change its result.
_WITHOUT_EFFECT = ("n_jobs", "checkpoint")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoint folders of the steps of a command: the fit, and the check by a second one.

    Attributes
    ----------
    steps : dict of Path
        By step; empty if nothing is kept.
    folder : Path
        What messages call the place of the parts.
    """

    steps: dict[str, Path]
    folder: Path

    def n_parts(self) -> int:
        """Return the number of finished parts that are kept."""
        return sum(_n_parts(path) for path in self.steps.values())

    def found(self) -> str:
        """Return what an earlier run of the same fit has left, as a sentence; empty for nothing."""
        n = self.n_parts()
        parts = f"{n:,} finished part{'s' if n > 1 else ''}"
        return f"Resuming: {parts} of this fit found in {self.folder}." if n else ""

    def say_kept(self) -> None:
        """Print what an interruption leaves, and how to go on."""
        n = self.n_parts()
        if n:
            message = (
                f"Finished parts are kept in {self.folder} ({n:,} so far): run the same command to "
                "resume."
            )
        elif self.steps:
            message = "No part was finished yet: run the same command to start again."
        else:
            message = (
                "Nothing was kept, because the fit was expected to take less than "
                "--checkpoint-after: run the same command to start again, with --checkpoint DIR to "
                "keep finished parts."
            )
        say_on_stderr(message)


def automatic_checkpoint(out: Path, model: "CoManifold", X: Any, step: str) -> Path:
    """Return the checkpoint folder of a step inside a results folder.

    It is named after data and parameters, so that the same fit finds its own again.
    """
    parameters = sorted(
        (name, value) for name, value in model.get_params().items() if name not in _WITHOUT_EFFECT
    )
    key = sha256(X.tobytes() + repr(parameters).encode()).hexdigest()
    return _unused_path(out / f"checkpoint-{key[:8]}-{step}")


def refuse_nothing_to_resume(found: Checkpoints, out: Path) -> None:
    """Raise FileNotFoundError if there is no part of this fit, and name those of others."""
    if found.n_parts():
        return
    others = [path for path in automatic_checkpoints(out) if path not in found.steps.values()]
    message = f"there is nothing to resume in {found.folder}: no finished part of this fit"
    if others:
        message += (
            ". There are parts of a fit to other data, or with other parameters: give the same "
            "options as then"
        )
    raise FileNotFoundError(f"{message}. Without --resume the fit starts at the beginning")


def automatic_checkpoints(out: Path) -> list[Path]:
    """Return the automatic checkpoints in a results folder, of this fit and of others."""
    from .._io import kind_of_folder

    if not out.is_dir():
        return []
    return [
        path
        for path in out.iterdir()
        if _NAME.fullmatch(path.name)
        and not path.is_symlink()
        and kind_of_folder(path) == "checkpoint"
    ]


def remove_automatic_checkpoints(out: Path) -> None:
    """Delete the automatic checkpoints of a fit, and of interrupted ones before it."""
    from .._io import OwnedFolder

    for path in automatic_checkpoints(out):
        with suppress(OSError, RuntimeError, ValueError):
            OwnedFolder(path, "checkpoint").remove()


def _n_parts(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.npz")) if folder.is_dir() else 0


def _unused_path(path: Path) -> Path:
    """Return a path, numbered if needed, at which there is nothing or a checkpoint of ours."""
    from .._io import kind_of_folder

    name, number = path.name, 1
    while os.path.lexists(path) and kind_of_folder(path) != "checkpoint":
        number += 1
        path = path.with_name(f"{name}-{number}")
    return path
