"""Foreign files and links in and around all paths that we use."""

import hashlib
import os
import random
from pathlib import Path

# Names like our own, of today and of earlier versions, and others.
NAMES = (
    ".comanifold-0123456789abcdef0123456789abcdef",
    ".comanifold-mine",
    ".comanifold.json.bak",
    ".comanifold-0123456789abcdef0123456789abcdef.json",
    ".lock",
    ".new-res-x",
    ".part-x",
    "arrays.npz",
    "checkpoint-fit",
    "comanifold-results-01234567",
    "files.txt",
    "filled.csv.bak",
    "model",
    "model.json",
    "pass-1-0_0-k.01234567.npz",
    "res.checkpoint",
    "run.json",
    "thesis é.txt",
    "trial-0",
)


def scatter(folders, outside, rng: random.Random, n_items: int) -> list[Path]:
    """Put files, folders and links into folders; return the paths of all of them.

    `outside` is a folder with files of its own, which links point to.
    """
    made: list[Path] = []
    for _ in range(n_items):
        path = rng.choice(folders) / rng.choice(NAMES)
        if os.path.lexists(path):
            continue
        kind = rng.choice(["file", "empty", "folder", "full", "file link", "folder link", "loop"])
        if kind in ("file", "empty"):
            path.write_bytes(b"" if kind == "empty" else rng.randbytes(50))
        elif kind in ("folder", "full"):
            path.mkdir()
            if kind == "full":
                for name in rng.sample(NAMES, 3):
                    (path / name).write_bytes(rng.randbytes(20))
                    made.append(path / name)
        else:
            target = {"file link": outside / "precious", "folder link": outside, "loop": path}
            path.symlink_to(target[kind])
        made.append(path)
    return made


def fingerprint(paths) -> dict[str, tuple]:
    """Return what is at each path: kind, mode, and content or target, links not followed."""
    found = {}
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            found[str(path)] = ("gone",)
            continue
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_dir():
            content = "folder"
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path)] = (status.st_mode, status.st_ino, content)
    return found
