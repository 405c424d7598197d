"""Ranks and histories of files in the card store: written by a full build, looked up one by one afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from golore.graph.cards.card_store import CardStore
from golore.graph.cards.related_files import stem_of
from golore.graph.history.co_change import FileHistory, Partner, directory_of

_encoder: Final = msgspec.json.Encoder()


class StoredRanks(Mapping[str, float]):
    """Ranks and couplings from the card store, looked up on demand."""

    def __init__(self, card_store: CardStore) -> None:
        self._card_store = card_store
        self._rows: dict[str, tuple[float, str]] = {}
        self._coupled: dict[str, FileHistory | None] = {}

    def __getitem__(self, path: str) -> float:
        return self._row(path)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def coupled(self, path: str) -> FileHistory | None:
        if path not in self._coupled:
            text = self._row(path)[1]
            self._coupled[path] = history_from_json(path, text) if text else None
        return self._coupled[path]

    def _row(self, path: str) -> tuple[float, str]:
        if path not in self._rows:
            self._rows[path] = self._card_store.rank_and_history(path) or (0.0, "")
        return self._rows[path]


def history_from_json(path: str, text: str) -> FileHistory:
    """The history of a file, from the text that `file_rows` has for it."""
    mass, commits, busy, partners = msgspec.json.decode(text)
    return FileHistory(path, mass, commits, busy, tuple([Partner(*partner) for partner in partners]))


def file_rows(
    files: Iterable[str],
    directories: Mapping[str, object],
    ranks: Mapping[str, float],
    coupled: Mapping[str, FileHistory],
) -> list[tuple[str, str, str, float, str]]:
    """The rows of files and of their directories, for `CardStore.replace_files`."""
    rows = [
        (path, directory_of(path), stem_of(path), ranks.get(path, 0.0), _history_json(coupled.get(path)))
        for path in files
    ]
    rows += [(directory, "", "", 0.0, _history_json(coupled.get(directory))) for directory in directories]
    rows.sort()  # by the primary key: inserting is twice as fast
    return rows


def _history_json(coupled: FileHistory | None) -> str:
    return "" if coupled is None else to_json(coupled[1:])


def to_json(value: object) -> str:
    """The value as JSON without spaces. The `json` module takes ten times as long, and there are a million values."""
    return _encoder.encode(value).decode()
