"""Models in directories: numbers as arrays, the rest as JSON, and nothing that can run."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._fit.settings import check_settings
from . import OwnedFolder, check_folder, checksum, complete_publication
from .model_reading import StateReader, parameters_from_json
from .model_writing import parameters_to_json, state_to_json
from .npz import open_archive

_KIND = "model"
_FORMAT = "comanifold model"
_FORMAT_VERSION = 1
_DESCRIPTION = "model.json"
_ARRAYS = "arrays.npz"

# A model that is being replaced is read again so many times, with such pauses.
_N_TRIES, _SECONDS_BETWEEN = 20, 0.05

# Labels and scales of the largest matrices take less.
_MOST_JSON = 1 << 30


class SavingMixin:
    """`save` and `load` of a fitted `CoManifold`."""

    def save(self, directory: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Write the fitted model to a directory, whole or not at all.

        There are two files in it: arrays.npz, read without pickle, and model.json with the
        parameters, labels, scales and versions; and a hidden list of what was written. `load`
        gives back a model with the same bits.

        Parameters
        ----------
        directory : path
            Must not exist, or be empty.
        overwrite : bool, default=False
            Replace the model that was saved there. Other files in the directory stay. If its own
            files have been changed since, it is refused.

        Raises
        ------
        ValueError
            If a part of the model is not data: an embedding other than "diffusion", or a
            penalty that is not one of `comanifold.penalties`.
        """
        check_is_fitted(self)
        description, arrays = _describe(self)
        check_folder(Path(directory), kind=_KIND, overwrite=overwrite)
        with OwnedFolder(directory, _KIND) as folder:
            folder.refuse_taken([_ARRAYS, _DESCRIPTION])
            with folder.publish(last=_DESCRIPTION) as temporary:
                _write(description, arrays, temporary.file)

    @classmethod
    def load(cls, directory: str | os.PathLike) -> Any:
        """The model that was saved to a directory. Nothing in it is ever run.

        Parameters
        ----------
        directory : path

        Raises
        ------
        ValueError
            If it is damaged, not a model, or of a later version.
        """
        directory = Path(directory)
        for _ in range(_N_TRIES):
            before = _state_of_files(directory)
            is_in_use = False
            try:
                complete_publication(directory, _KIND)
            except RuntimeError:
                is_in_use = True
            except OSError:
                pass
            try:
                return cls._load(directory)
            except (FileNotFoundError, ValueError):
                # Another process may be replacing the model just now.
                if not is_in_use and _state_of_files(directory) == before:
                    raise
                time.sleep(_SECONDS_BETWEEN)
        return cls._load(directory)

    @classmethod
    def _load(cls, directory: Path) -> Any:
        description = _read_description(directory)
        try:
            arrays = _read_arrays(directory / _ARRAYS, description.get("arrays (sha256)"))
            model = cls(
                **parameters_from_json(description.get("parameters"), list(cls().get_params()))
            )
            check_settings(model)
            state = description.get("state")
            if not isinstance(state, dict):
                raise ValueError("it has no state")
            vars(model).update(StateReader(state, arrays).attributes())
        except ValueError as error:
            raise ValueError(f"the model in {str(directory)!r} cannot be read: {error}") from error
        return model


def write_model(model: Any, new_file: Callable[[str], Path]) -> None:
    """Write a fitted model to the paths that `new_file` gives for the names of its files."""
    _write(*_describe(model), new_file)


def _describe(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all of a fitted model: what goes into JSON, and its arrays."""
    arrays: dict[str, Any] = {}
    description = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "comanifold": __version__,
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "parameters": parameters_to_json(model.get_params(deep=False)),
        "state": state_to_json(model, arrays),
    }
    return description, arrays


def _write(
    description: dict[str, Any], arrays: dict[str, Any], new_file: Callable[[str], Path]
) -> None:
    file = new_file(_ARRAYS)
    # Not compressed: no array can then say that it is larger than the file.
    np.savez(file, **arrays)
    content = {**description, "arrays (sha256)": checksum(file)}
    new_file(_DESCRIPTION).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _read_description(directory: Path) -> dict[str, Any]:
    path = directory / _DESCRIPTION
    for file in (path, directory / _ARRAYS):
        if not file.is_file():
            raise FileNotFoundError(f"there is no saved model: {file} is missing")
    if path.stat().st_size > _MOST_JSON:
        raise ValueError(f"{path} is {path.stat().st_size} bytes long: this is no saved model")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise ValueError(f"{path} does not describe a saved model")
    found = description.get("format_version")
    if not isinstance(found, int) or found < 1:
        raise ValueError(f"{path} has no version of its format")
    if found > _FORMAT_VERSION:
        raise ValueError(
            f"the model in {str(directory)!r} was saved by comanifold "
            f"{str(description.get('comanifold'))[:40]} in format {found}; this is comanifold "
            f"{__version__}, which reads formats up to {_FORMAT_VERSION}: update comanifold"
        )
    return description


def _read_arrays(path: Path, digest: Any) -> dict[str, Any]:
    # Opened once: another process may put another file there.
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise ValueError(
                f"{path.name} is damaged: its checksum is not the one in {_DESCRIPTION}"
            )
        with open_archive(file) as archive:
            if archive.is_compressed:
                raise ValueError(f"{path.name} is compressed, as no saved model is")
            return {name: archive.read(name) for name in archive.names}


def _state_of_files(directory: Path) -> list[tuple[int, int, int] | None]:
    """Return what tells whether the files of a model were replaced."""
    states: list[tuple[int, int, int] | None] = []
    for name in (_DESCRIPTION, _ARRAYS):
        try:
            found = os.stat(directory / name)
            states.append((found.st_ino, found.st_mtime_ns, found.st_size))
        except OSError:
            states.append(None)
    return states
