"""`golore export`: the whole store as lines of JSON, to standard output or a file, or as a directory of Parquet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from golore.graph.errors import UsageError
from golore.graph.transfer.jsonl_export import export_store
from golore.mcp_server.services.open_store import open_renewed
from golore.mcp_server.services.repository import find_place
from golore.mcp_server.text.output import as_utf8


def run_export(start: Path, output: Path | None, *, format: str = "jsonl") -> int:
    if format == "parquet" and output is None:
        raise UsageError("Parquet is written to a directory. Name it with --output.")
    with open_renewed(find_place(start)) as store:
        if output is None:
            export_store(store, as_utf8(sys.stdout))
            return 0
        if format == "parquet":
            from golore.graph.transfer.parquet_export import export_parquet

            export_parquet(store, output)
            return 0
        # Beside its place first, so that a failure half-way leaves no half an export under the name.
        part = output.with_name(f"{output.name}.{os.getpid()}.tmp")
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                export_store(store, file)
            part.replace(output)
        finally:
            part.unlink(missing_ok=True)
    return 0
