"""Real data, from a file, a folder or a checked download."""

import csv
import hashlib
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

# Where the files were published, at one commit, and their hashes.
_SOURCE = (
    "https://raw.githubusercontent.com/HaidYi/cvxbiclustr/"
    "4672fbb68f0e46f83e2081470d3f4bdfaedf5710/data"
)
_SHA256 = {
    "lung500.csv": "1bb2dc23adfd696ec45fed77dc0f869183e48e4b4dd9b39b94f227e5e4e8c23c",
    "president.csv": "1d5a352747ce199e00c6f3d373548f45b3b37ec74b919e0ee7cc635bf4ecc4f2",
}


def load_lung500(path: str | os.PathLike | None = None) -> Bunch:
    """Load lung500: 500 genes in 56 subjects, normal or with one of three lung tumours.

    Parameters
    ----------
    path : path, optional
        The file, or the folder of lung500.csv. By default the folder that the environment
        variable COMANIFOLD_DATA names; without it the file is downloaded once (this needs
        ``pip install comanifold[data]``) and checked.

    Returns
    -------
    data : Bunch
        With X of shape (500, 56), genes by subjects; row_names; column_names; column_labels,
        the diagnosis of each subject as a number, and label_names.

    References
    ----------
    Bhattacharjee et al. (2001), Classification of human lung carcinomas by mRNA expression
    profiling. Lee et al. (2010), Biclustering via sparse singular value decomposition.
    """
    data = _load("lung500.csv", path)
    diagnoses = [name.split("_")[0] for name in data.column_names]
    data.label_names, data.column_labels = np.unique(diagnoses, return_inverse=True)
    return data


def load_president(path: str | os.PathLike | None = None) -> Bunch:
    """Load president: log counts of 75 words in speeches of 44 presidents of the United States.

    Parameters
    ----------
    path : path, optional
        As in `load_lung500`, for president.csv.

    Returns
    -------
    data : Bunch
        With X of shape (44, 75), presidents by words, row_names and column_names.

    References
    ----------
    Weylandt, Nagorski and Allen (2020), Dynamic visualization and fast computation for convex
    clustering via algorithmic regularization.
    """
    return _load("president.csv", path)


def _load(name: str, path: str | os.PathLike | None) -> Bunch:
    """Return the matrix and the names of a file, after a check of its hash."""
    file = _locate(name, path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != _SHA256[name]:
        raise ValueError(
            f"{file} is not the published {name}: its sha256 is {digest}, expected "
            f"{_SHA256[name]}. It is at {_SOURCE}"
        )
    with open(file, newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return Bunch(
        X=np.array([row[1:] for row in rows], dtype=float),
        row_names=np.array([row[0] for row in rows]),
        column_names=np.array(header[1:]),
    )


def _locate(name: str, path: str | os.PathLike | None) -> Path:
    """Return the path of a file: as given, in COMANIFOLD_DATA, or downloaded."""
    given = path if path is not None else os.environ.get("COMANIFOLD_DATA")
    if given:
        file = Path(given)
        file = file / name if file.is_dir() else file
        if not file.is_file():
            origin = "path" if path is not None else "COMANIFOLD_DATA"
            raise FileNotFoundError(f"{name} was not found: {origin} is {str(given)!r}")
        return file
    return _download(name)


def _download(name: str) -> Path:
    """Return the path of a file in the cache, downloaded if it is not there."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"{name} has to be downloaded, which needs pooch: pip install comanifold[data]; or "
            "set COMANIFOLD_DATA to the folder of the file"
        ) from error
    try:
        return Path(
            pooch.retrieve(
                f"{_SOURCE}/{name}",
                known_hash=f"sha256:{_SHA256[name]}",
                fname=name,
                path=pooch.os_cache("comanifold"),
            )
        )
    except ValueError as error:  # another hash; the file is not kept
        raise ValueError(f"the downloaded {name} is not the published file: {error}") from error
    except OSError as error:
        raise OSError(
            f"{name} could not be downloaded from {_SOURCE}: {error}. Set COMANIFOLD_DATA to a "
            "folder that has it"
        ) from error
