"""`golore export`: writes the store as JSON lines or Parquet, or the graph as a SCIP index, GraphML or CSV."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.files.atomic_write import replacing
from golore.graph.phrases import counted, listed
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.text.output import as_utf8, is_terminal, print_json, print_message

_DIRECTORIES = ("parquet", "csv")


def run_export(start: Path, output: Path | None, *, format: str = "jsonl", as_json: bool = False) -> int:
    if output is None and format in _DIRECTORIES:
        raise UsageError(f"{format.capitalize()} is written to a directory. Name it with --output.")
    if output is None and format == "scip" and is_terminal(sys.stdout):
        raise UsageError("A SCIP index is not text. Name a file with --output, such as index.scip.")
    repository = find_repository(start)
    with open_current_store(repository) as store:
        if format == "scip":
            _export_scip(store, repository.root, output)
        elif output is not None and format in _DIRECTORIES:
            _export_directory(store, output, format)
        else:
            _export_text(store, output, format)
    if as_json and output is not None:
        print_json({"output": output, "format": format})
    return 0


def _export_directory(store: Store, output: Path, format: str) -> None:
    from golore.graph.transfer.csv_export import export_csv
    from golore.graph.transfer.parquet_export import export_parquet

    (export_csv if format == "csv" else export_parquet)(store, output)


def _export_text(store: Store, output: Path | None, format: str) -> None:
    from golore.graph.transfer.graphml_export import export_graphml
    from golore.graph.transfer.jsonl_export import export_store

    with _text_file(output) as file:
        (export_graphml if format == "graphml" else export_store)(store, file)


def _export_scip(store: Store, root: Path, output: Path | None) -> None:
    from golore.graph.transfer.scip_export import export_scip

    if output is None:
        written = export_scip(store, root, sys.stdout.buffer)
    else:
        with replacing(output) as file:
            written = export_scip(store, root, file)
    if written.changed:
        print_message(
            f"golore: {counted(len(written.changed), 'file')} changed since the last learn, and the index has no "
            f"positions there: {listed(written.changed, 3)}. Run `golore learn` first."
        )


@contextmanager
def _text_file(output: Path | None) -> Generator[TextIO]:
    if output is None:
        yield as_utf8(sys.stdout)
        return
    with replacing(output) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # flushes the buffer; `replacing` closes the file
