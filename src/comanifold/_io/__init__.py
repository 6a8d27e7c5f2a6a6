"""Atomic files, folders in which only our own files are replaced, and the model format."""

from .files import (
    TemporaryFolder,
    atomic_file,
    check_space,
    is_regular,
    refuse_special,
    write_with_backup,
)
from .folders import OwnedFolder, check_folder, checksum, complete_publication, kind_of_folder

__all__ = [
    "OwnedFolder",
    "TemporaryFolder",
    "atomic_file",
    "check_folder",
    "check_space",
    "checksum",
    "complete_publication",
    "is_regular",
    "kind_of_folder",
    "refuse_special",
    "write_with_backup",
]
