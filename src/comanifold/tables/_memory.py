"""How much memory reading a file may take, as a multiple of the matrix that is kept of it."""

from ._table import TableError, shortened

# Bytes that any file may take, and multiples of the matrix on top.
_LEAST_BYTES = 1 << 26
_TIMES_KEPT = 4

# Bytes of a Python string besides its characters, and of a reference to an object.
_TEXT_BYTES = 50
REFERENCE_BYTES = 8


def memory_bound(n_rows: int, n_columns: int) -> int:
    """Bytes that any one part of a file may take when so large a matrix of floats is kept."""
    return _LEAST_BYTES + _TIMES_KEPT * 8 * n_rows * n_columns


def check_bytes(name: str, n_bytes: int, bound: int) -> None:
    """Refuse a part of a file that takes more bytes than the bound, before it is read."""
    if n_bytes > bound:
        raise TableError(
            f"{shortened(name)} takes {n_bytes:,} bytes, and at most {bound:,} are read for a "
            "matrix of this size: shorten it, or leave it out"
        )


class TextBudget:
    """Counts the bytes of texts that are kept, and refuses them once they pass a bound.

    Parameters
    ----------
    bound : int
    """

    def __init__(self, bound: int):
        self._left = self._bound = bound

    @property
    def left(self) -> int:
        return self._left

    def take(self, name: str, n_bytes: int) -> None:
        """Count bytes that are taken by something that is not text."""
        self._left -= n_bytes
        if self._left < 0:
            check_bytes(name, self._bound - self._left, self._bound)

    def take_texts(self, name: str, texts: list[str]) -> None:
        """Count texts, each an object of its own."""
        self.take(name, sum(map(len, texts)) + len(texts) * (_TEXT_BYTES + REFERENCE_BYTES))
