"""Writes the graph as a directory of CSV files, one for each label of nodes and edges, with a header line.

Values are as in the graph. A spreadsheet may take a text that begins with `=` for a formula: import the files as text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.model.edge_kinds import EDGE_KINDS, EDGE_LABELS, EDGE_PROPERTIES
from golore.graph.model.tables import NODE_COLUMNS

_ENDS: Final = ("source", "source_label", "target", "target_label")


def export_csv(store: Store, output: Path) -> None:
    """Write the files to a new or empty directory. Raises `UsageError` if it has files."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} exists and is not an empty directory. Choose another name.")
    output.mkdir(parents=True, exist_ok=True)
    for label in NODE_COLUMNS:
        header = [column.name for column in NODE_COLUMNS[label]]
        _write(output / f"{label}.csv", header, (map(_cell, node) for node in store.nodes(label)))
    for label in EDGE_LABELS:
        names = EDGE_PROPERTIES[label]
        rows = (
            (edge.source, kind.source, edge.target, kind.target, *(_cell(getattr(edge, name)) for name in names))
            for kind in EDGE_KINDS
            if kind.label == label
            for edge in store.edges(kind)
        )
        _write(output / f"{label}.csv", (*_ENDS, *names), rows)


def _write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _cell(value: object) -> object:
    """Lists are joined by spaces, as in the graph; truth values are written as in JSON."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value).lower() if isinstance(value, bool) else value
