"""For tests of exports, imports and snapshots: write a note, export a store, damage its graph."""

from __future__ import annotations

import io
import os
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.knowledge_rows import insert_rows
from golore.graph.transfer.jsonl_export import export_store

NOTE = {
    "kind": "note",
    "text": "Keys are counted, not kept.",
    "subject": "store.go",
    "author": "ann",
    "source": "person",
    "created": "2026-11-16T09:00:00Z",
    "confirmed": "2026-11-16T09:00:00Z",
    "tags": "[]",
    "done": "",
    "revision": 1,
}


def put_note(store: Path, id: str, text: str = "") -> None:
    with Knowledge.open(store) as knowledge, knowledge.transaction() as write:
        insert_rows(write, "notes", [{"id": id, **NOTE, "text": text or NOTE["text"]}])


def exported(store: Path) -> str:
    out = io.StringIO()
    with Store.open(store, write=False) as opened:
        export_store(opened, out)
    return out.getvalue()


def truncate_graph(store: Path) -> None:
    for path in store.glob("graph-*.db"):
        os.truncate(path, 5_000)
