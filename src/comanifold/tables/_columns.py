"""Which columns of a file are read."""

import csv
import re
from collections.abc import Sequence

from ._table import TableError, listed, shortened

Wanted = str | Sequence[str | int] | None


def chosen_columns(names: Sequence[str], columns: Wanted, exclude: Wanted) -> list[int]:
    """Places of the columns that are asked for and not excluded, in the order of the file.

    Both are names, numbers that count from 1, and ranges of either; a name comes first where it
    could be something else.
    """
    chosen = set(range(len(names))) if columns is None else _places(names, columns)
    if exclude is not None:
        chosen -= _places(names, exclude)
    if not chosen:
        raise TableError("no column is left of those asked for (--columns, --exclude)")
    return sorted(chosen)


def as_ranges(places: Sequence[int]) -> str:
    """Places as `--columns` takes them: "2-5,7"."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return ",".join(f"{a + 1}-{b + 1}" if b > a else f"{a + 1}" for a, b in runs)


def _places(names: Sequence[str], wanted: str | Sequence[str | int]) -> set[int]:
    if isinstance(wanted, str):
        # Names that hold a comma may be quoted, as in the file.
        wanted = next(csv.reader([wanted], skipinitialspace=True), [])
    # Names count as written, and without the blanks around them.
    by_name = {name.strip(): place for place, name in reversed(list(enumerate(names)))}
    by_name.update({name: place for place, name in enumerate(names)})
    places: set[int] = set()
    for item in wanted:
        if isinstance(item, str) and item in by_name:
            places.add(by_name[item])
            continue
        span = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", str(item))
        if not span and (ends := _named_range(by_name, str(item))):
            places.update(range(ends[0], ends[1] + 1))
            continue
        if not span:
            raise TableError(
                f"there is no column named {shortened(item)}; there are {listed(names)}"
            )
        first = int(span[1])
        last = int(span[2] or first)
        if not 1 <= first <= last <= len(names):
            raise TableError(f"columns {shortened(item)}: the file has columns 1 to {len(names)}")
        places.update(range(first - 1, last))
    return places


def _named_range(by_name: dict[str, int], item: str) -> tuple[int, int] | None:
    """The first and last place of a range of names such as Q1-Q30, or None."""
    for dash in (place for place, sign in enumerate(item) if sign in "-\u2013"):
        first, last = item[:dash].strip(), item[dash + 1 :].strip()
        if first in by_name and last in by_name:
            if by_name[first] > by_name[last]:
                raise TableError(
                    f"columns {shortened(item)}: {shortened(last)} comes before {shortened(first)}"
                )
            return by_name[first], by_name[last]
    return None
