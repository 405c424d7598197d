"""Exports to import, as lines of JSON or one of the Parquet files: an import succeeds, or changes nothing.

The first byte of an input chooses the file that the rest is the content of. The digests are made to fit, as those of a
hostile export would.
"""

from __future__ import annotations

import io
import json
import shutil
from hashlib import blake2b
from pathlib import Path

from fuzzing.target import Target
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError
from golore.graph.files.graph_digests import file_digest
from golore.graph.transfer.importer import import_store
from golore.graph.transfer.jsonl_export import export_store
from golore.graph.transfer.parquet_export import HEADER_NAME, export_parquet
from golore.learner.learn import learn
from support.stores import put_note

_GO = "package p\n\ntype T struct{ A int }\n\n// M does.\nfunc (t T) M() { F() }\n\nfunc F() {}\n"


def prepare(directory: Path) -> Target:
    root = directory / "origin"
    root.mkdir()
    (root / "go.mod").write_text("module example.com/p\n")
    (root / "p.go").write_text(_GO)
    learn(root, root / ".golore", workers=0)
    put_note(root / ".golore", "n1")
    lines = io.StringIO()
    with Store.open(root / ".golore", write=False) as store:
        export_store(store, lines)
        export_parquet(store, directory / "export")
    tables = sorted((directory / "export").glob("*.parquet"))
    good = {path: path.read_bytes() for path in tables}
    header = json.loads((directory / "export" / HEADER_NAME).read_text())
    last = lines.getvalue().splitlines()[-1]
    body = lines.getvalue().removesuffix(f"{last}\n").encode()

    def run(data: bytes) -> None:
        number, content = data[:1].hex() or "0", data[1:]
        chosen = int(number, 16) % (len(tables) + 1)
        if chosen == len(tables):
            source = directory / "export.jsonl"
            closing = json.loads(last) | {"digest": _digest(content), "lines": content.count(b"\n")}
            source.write_bytes(content + json.dumps(closing).encode() + b"\n")
        else:
            source, path = directory / "export", tables[chosen]
            path.write_bytes(content)
            listed = header["tables"] | {path.stem: header["tables"][path.stem] | {"digest": file_digest(path)}}
            (source / HEADER_NAME).write_text(json.dumps(header | {"tables": listed}))
        try:
            _import(source, directory / "imported")
        finally:
            if chosen < len(tables):
                tables[chosen].write_bytes(good[tables[chosen]])

    seeds = [bytes([number]) + good[path] for number, path in enumerate(tables)]
    return Target((*seeds, bytes([len(tables)]) + body), run)


def _import(source: Path, target: Path) -> None:
    try:
        import_store(source, target, replace=False)
    except GoloreError:
        assert not (target / "store.json").exists()
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
