"""Events of `.golore-notes/`: a sync uses them or names them, is repeatable, and leaves knowledge that can be read.

An input is the contents of several files, divided by NUL bytes. Their names are made to fit, as those of a hostile
repository would, and so is their form, if they are objects of JSON.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from fuzzing.target import Target
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge import event_log
from golore.graph.knowledge.event_directory import DIRECTORY_NAME, EventDirectory
from golore.graph.knowledge.event_log import make_event
from golore.graph.knowledge.notes import Anchor, all_notes, chain_of, note_event_parts
from golore.graph.knowledge.ratings import rated_items, ratings
from golore.mcp_server.services.knowledge.team_notes import sync_events

_AT = "2026-11-01T00:00:00+00:00"
_LATER = "2026-11-02T12:30:00.123456+01:00"
_IDS = tuple(f"{number:016x}" for number in (1, 2, 3))
_SYMBOL = "example.com/p.F"
_ANCHOR = Anchor("symbol", _SYMBOL, _SYMBOL, "p.go", "symbol", _SYMBOL, _SYMBOL, "p.go", "d1", "d1")


def prepare(directory: Path) -> Target:
    root, store = directory / "checkout", directory / "store"
    folder = root / DIRECTORY_NAME

    def run(data: bytes) -> None:
        for path in (root, store):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        folder.mkdir()
        contents = data.split(b"\0")[:8]
        for content in (*contents, *filter(None, map(_written, contents))):
            name = blake2b(content, digest_size=16).hexdigest()
            (folder / f"{name}.json").write_bytes(content)
        first = sync_events(store, EventDirectory(root))
        assert sum(first.received.values()) + len(first.messages) > 0
        again = sync_events(store, EventDirectory(root))
        assert again.received == again.sent == {}, again
        with Knowledge.open(store) as knowledge:
            for note in all_notes(knowledge):
                chain_of(knowledge, note)
            list(ratings(knowledge))
            rated_items(knowledge)

    return Target(tuple(_seeds()), run)


def _written(content: bytes) -> bytes:
    """An object of JSON as golore writes it; empty if it is none."""
    try:
        body: dict[str, object] = {"kind": "", "subject": "", "at": "", **json.loads(content)}
        kind, subject, at = (str(body.pop(name)) for name in ("kind", "subject", "at"))
        return make_event(kind, subject, at, body).text.encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, RecursionError):
        return b""


def _seeds() -> Iterator[bytes]:
    events = [make_event(kind, subject, at, more).text for kind, subject, at, more in _events()]
    yield from (event.encode() for event in events)
    yield "\0".join(events[:5]).encode()
    yield "\0".join(events[3:]).encode()
    # Deep values and long numbers in fields that no golore writes.
    for odd in ("[" * 2_000 + "]" * 2_000, '{"a":' * 500 + "1" + "}" * 500, "1" * 5_000, "1e999", '"\\ud800"'):
        for event in events[2:5]:
            yield event.replace("{", f'{{"odd": {odd},', 1).encode()


def _events() -> Iterator[tuple[str, str, str, dict[str, object]]]:
    row = (_IDS[0], "decision", "Writes are not retried.", _SYMBOL, "ann", "person")
    yield note_event_parts(row, _AT, ["store"], _ANCHOR, ["example.com/p.G"])
    yield note_event_parts((_IDS[1], "task", "Retry.\n\nLater.", _SYMBOL, "bob", "agent"), _LATER, [], _ANCHOR, [])
    yield event_log.SUPERSEDED, _IDS[0], _AT, {"by": _IDS[1]}
    yield event_log.CONFIRMED, _IDS[0], _LATER, {"home": _SYMBOL, "file": "p.go", "written": "d2"}
    yield event_log.DONE, _IDS[1], _LATER, {}
    yield event_log.FORGOTTEN, _IDS[2], _LATER, {}
    yield event_log.RATED, f"note:{_IDS[0]}", _AT, {"useful": True, "by": "ann"}
    yield event_log.UNRATED, event_log.ALL_ITEMS, _LATER, {}
    summary = {"id": "s1", "level": "file", "text": "It keeps things.", "quality": "reviewed", "source": "person"}
    more = {"model": "", "prompt": "", "inputs": "i1", "supersedes": "", "parts": [["file", "p.go", "p.go", "d1"]]}
    yield event_log.SUMMARY, "p.go", _AT, json.loads(json.dumps({**summary, **more}))
