"""Labels in files beside a matrix, as 10x Genomics and the programs after it leave them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ._lines import open_lines
from ._memory import TextBudget, memory_bound
from ._table import Options, Table, TableError

_MATRIX = "matrix.mtx"

# Rows are features and columns are barcodes; features were called genes once.
_FILES = {"row": ("features.tsv", "genes.tsv"), "column": ("barcodes.tsv",)}


def with_tenx_labels(table: Table, path: Path, options: Options) -> Table:
    """The table with the labels in the files that belong to a matrix.mtx, if there are any."""
    matrix = path.name.removesuffix(".gz")
    if not matrix.endswith(_MATRIX) or options.labels is False:
        return table
    # Many samples in one folder: patient1_matrix.mtx, patient1_features.tsv and so on.
    start = matrix.removesuffix(_MATRIX)
    budget = TextBudget(memory_bound(*table.values.shape))
    for mode, size in zip(_FILES, table.values.shape, strict=True):
        names = [f"{start}{name}{end}" for name in _FILES[mode] for end in ("", ".gz")]
        there = [path.with_name(name) for name in names if path.with_name(name).is_file()]
        if there:
            labels = _labels(there[0], f"{mode}s", size, options.encoding, budget)
            note = f"Labels of {mode}s: {there[0].name}."
            table = replace(table, **{f"{mode}_names": labels}, notes=[*table.notes, note])
    return table


def _labels(
    file: Path, noun: str, size: int, encoding: str | None, budget: TextBudget
) -> list[str]:
    """A label for each row or column, from as many lines."""
    try:
        with open_lines(file, encoding) as lines:
            filled = (line.rstrip("\r\n") for line in lines if line.strip())
            records = []
            for line in islice(filled, size + 1):
                budget.take_texts(file.name, [line])
                records.append(line.split("\t")[:2])
    except (TableError, UnicodeError) as error:
        raise TableError(f"{file.name} beside it: {error}") from error
    if len(records) != size:
        found = f"more than {size}" if len(records) > size else str(len(records))
        raise TableError(
            f"{file.name} beside it has {found} lines, and the matrix has {size} {noun}: put the "
            "file there that belongs to it, or read it without labels (--no-labels)"
        )
    return _distinct(records)


def _distinct(records: Sequence[Sequence[str]]) -> list[str]:
    """Names, in the second place after identifiers; with these where several have one name."""
    names = [record[1] if len(record) > 1 and record[1] else record[0] for record in records]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({record[0]})"
        for name, record in zip(names, records, strict=True)
    ]
