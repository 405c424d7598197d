"""`golore export`: writes the store as JSON lines to standard output or a file, or as a directory of Parquet files."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path

from golore.graph.errors import UsageError
from golore.graph.files.atomic_write import replacing
from golore.graph.transfer.jsonl_export import export_store
from golore.mcp_server.services.open_store import open_current_store
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.text.output import as_utf8, print_json


def run_export(start: Path, output: Path | None, *, format: str = "jsonl", as_json: bool = False) -> int:
    if format == "parquet" and output is None:
        raise UsageError("Parquet is written to a directory. Name it with --output.")
    with open_current_store(find_repository(start)) as store:
        if output is None:
            export_store(store, as_utf8(sys.stdout))
            return 0
        if format == "parquet":
            from golore.graph.transfer.parquet_export import export_parquet

            export_parquet(store, output)
        else:
            with replacing(output) as file:
                text = TextIOWrapper(file, encoding="utf-8", newline="\n")
                export_store(store, text)
                text.detach()  # flushes the buffer; `replacing` closes the file
    if as_json:
        print_json({"output": output, "format": format})
    return 0
