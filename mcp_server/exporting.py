"""`golore export`: the whole graph as lines of JSON, to standard output or a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from golore.graph.export import export_jsonl
from golore.mcp_server.output import as_utf8
from golore.mcp_server.place import find_place
from golore.mcp_server.renewing import open_renewed


def run_export(start: Path, output: Path | None) -> int:
    with open_renewed(find_place(start)) as store:
        if output is None:
            export_jsonl(store, as_utf8(sys.stdout))
            return 0
        # Beside its place first, so that a failure half-way leaves no half an export under the name.
        part = output.with_name(f"{output.name}.{os.getpid()}.tmp")
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                export_jsonl(store, file)
            part.replace(output)
        finally:
            part.unlink(missing_ok=True)
    return 0
