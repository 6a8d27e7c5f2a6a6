"""Names that differ from each other."""

from collections.abc import Sequence

from ._table import listed


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, with " (2)", " (3)" and so on after those that were there before."""
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    seen: set[str] = set()
    next_number: dict[str, int] = {}
    distinct = []
    for name in names:
        unique = name
        if name in seen:
            number = next_number.get(name, 2)
            while f"{name} ({number})" in taken:
                number += 1
            unique = f"{name} ({number})"
            next_number[name] = number + 1
            taken.add(unique)
        seen.add(name)
        distinct.append(unique)
    return distinct


def doubt_about_repeats(names: Sequence[str], distinct: Sequence[str], what: str) -> str | None:
    """A sentence about names that were given a number, or None if there are none."""
    changed = [name for name, new in zip(names, distinct, strict=True) if name != new]
    if not changed:
        return None
    repeated = list(dict.fromkeys(changed))
    renamed = next(new for name, new in zip(names, distinct, strict=True) if name != new)
    return (
        f"{what} that occur more than once: {listed(repeated)}; the repeats were numbered, as in "
        f"{renamed!r}"
    )
