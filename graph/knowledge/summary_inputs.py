"""The inputs that a summary is written from, by level, and their digests, which show whether they have changed since.

Symbol: its own text, and the signatures of what it calls and of its methods. File: its signatures, and for each
function, type or variable its summary or else its text. Package: its documentation, its list of files, and the files'
summaries or else signatures. Repository: its packages' summaries or else documentation. Callers are shown to a model,
too, but are not inputs: a new caller does not make a text about the called code wrong. A prompt may contain less than
this if a model's context is small.

Texts of files are read from the work tree, and only if they are what the graph was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.ratings import NOT_REJECTED
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular

CHILD: Final = "summary"
"""Second word of the kind of an input that is itself a summary, after its level: `file summary`."""
SUMMED_UP: Final = frozenset(("func", "method", "struct", "interface", "type", "alias", "var"))
"""The kinds of symbols that are inputs of a file's summary."""
_MAX_SIGNATURES: Final = 12
_MAX_CHARACTERS: Final = 6_000
"""Characters of a file's declarations that are inputs of its summary. Summaries of symbols count, too, but are never
left out."""
_MAX_FILES: Final = 40
_MAX_PACKAGES: Final = 60


class InputPart(NamedTuple):
    """One input. `source` is the file ("dir/file.go") or directory ("dir/") that must change for the input to change,
    empty for a summary. `digest` is empty if the input does not exist."""

    kind: str
    subject: str
    source: str
    digest: str


class InputText(NamedTuple):
    """An input with its text, as a prompt shows it. `title` names the code that it is about."""

    part: InputPart
    title: str
    text: str


class Inputs(NamedTuple):
    level: str
    subject: str
    pieces: tuple[InputText, ...]

    @property
    def parts(self) -> tuple[InputPart, ...]:
        return tuple(piece.part for piece in self.pieces)

    @property
    def digest(self) -> str:
        """Digest of all inputs together."""
        lines = sorted(f"{part.kind}\0{part.subject}\0{part.digest}" for part in self.parts)
        return text_digest("\n".join(lines))


class GraphBehind(Exception):
    """A file is not what the graph was made from; a learn is needed."""


class InputReader:
    """Reads the inputs of summaries from the graph, the files and the stored summaries. Caches the files' bytes.

    Methods that read a file raise `GraphBehind` if it is not what the graph was made from.
    """

    def __init__(self, store: Store, root: Path, knowledge: Knowledge) -> None:
        self._store = store
        self._root = root
        self._knowledge = knowledge
        self._bytes: dict[str, bytes] = {}

    def part(self, kind: str, subject: str) -> tuple[str, str]:
        """The source and the current digest of an input; the digest is empty if the input is gone."""
        if kind.endswith(CHILD):
            text = self.summary(kind.partition(" ")[0], subject)
            return "", text_digest(text) if text else ""
        if kind == "source":
            found = self.source(subject)
            return (found.part.source, found.part.digest) if found is not None else ("", "")
        if kind == "signature":
            return self._signature(subject)
        if kind == "shape":
            rows = self._rows("MATCH (f:File {id: $id}) RETURN f.shape", subject)
            return subject, text_digest(rows[0][0]) if rows else ""
        rows = self._rows("MATCH (p:Package {id: $id}) RETURN p.doc, p.dir", subject)
        if not rows:
            return "", ""
        doc, directory = rows[0]
        text = doc if kind == "doc" else "\n".join(self.files(subject))
        return f"{directory or '.'}/", text_digest(text)

    def source(self, symbol: str) -> InputText | None:
        """The text of a declaration, below its doc comment; None if the graph does not have the symbol."""
        statement = "MATCH (s:Symbol {id: $id}) RETURN s.file, s.start, s.`end`, s.doc, s.qualified_name"
        rows = self._rows(statement, symbol)
        if not rows:
            return None
        file, start, end, doc, name = rows[0]
        comment = "".join(f"// {line}".rstrip() + "\n" for line in doc.splitlines())
        text = comment + self._file_bytes(file)[start:end].decode("utf-8", "replace")
        return InputText(InputPart("source", symbol, file, text_digest(text)), name, text)

    def summary(self, level: str, subject: str) -> str:
        statement = f"SELECT text FROM summaries WHERE level = ? AND subject = ? AND current AND {NOT_REJECTED}"
        return next((row[0] for row in self._knowledge.rows(statement, (level, subject))), "")

    def files(self, package: str) -> list[str]:
        """The files of a package without its tests, sorted."""
        statement = "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File) WHERE NOT f.test RETURN f.id"
        return sorted(row[0] for row in self._rows(statement, package))

    def symbol(self, id: str) -> list[InputText]:
        own = self.source(id)
        if own is None:
            return []
        statements = (
            "MATCH (a:Symbol {id: $id})-[:CALLS]->(b:Symbol) RETURN b.id, b.qualified_name, b.signature, b.file",
            "MATCH (a:Symbol {id: $id})-[:CONTAINS]->(b:Symbol) WHERE b.kind = 'method' "
            "RETURN b.id, b.qualified_name, b.signature, b.file",
        )
        rows = sorted({tuple(row) for statement in statements for row in self._rows(statement, id) if row[0] != id})
        signatures = [
            InputText(InputPart("signature", other, file, text_digest(signature)), name, signature)
            for other, name, signature, file in rows[:_MAX_SIGNATURES]
        ]
        return [own, *signatures]

    def file(self, path: str) -> list[InputText]:
        source, digest = self.part("shape", path)
        if not digest:
            return []
        pieces = [InputText(InputPart("shape", path, source, digest), path, self._outline(path))]
        room = _MAX_CHARACTERS
        for id, name in self._summarized_symbols(path):
            text = self.summary("symbol", id)
            if text:
                pieces.append(InputText(InputPart(f"symbol {CHILD}", id, "", text_digest(text)), name, text))
            else:
                own = self.source(id)
                if own is None or len(own.text) > room:
                    continue
                pieces.append(own)
                text = own.text
            room -= len(text)
        return pieces

    def package(self, id: str) -> list[InputText]:
        pieces: list[InputText] = []
        for kind in ("doc", "files"):
            source, digest = self.part(kind, id)
            if not digest:
                return []
            text = self._doc(id) if kind == "doc" else ", ".join(path.rpartition("/")[2] for path in self.files(id))
            pieces.append(InputText(InputPart(kind, id, source, digest), id, text))
        for path in self.files(id)[:_MAX_FILES]:
            text = self.summary("file", path)
            if text:
                pieces.append(InputText(InputPart(f"file {CHILD}", path, "", text_digest(text)), path, text))
            else:
                source, digest = self.part("shape", path)
                pieces.append(InputText(InputPart("shape", path, source, digest), path, self._outline(path)))
        return pieces

    def repository(self) -> list[InputText]:
        pieces: list[InputText] = []
        for id in self.packages()[:_MAX_PACKAGES]:
            text = self.summary("package", id)
            if text:
                pieces.append(InputText(InputPart(f"package {CHILD}", id, "", text_digest(text)), id, text))
            else:
                source, digest = self.part("doc", id)
                pieces.append(InputText(InputPart("doc", id, source, digest), id, self._doc(id)))
        return pieces

    def packages(self) -> list[str]:
        """The packages that are not tests, most imported first."""
        names = [row[0] for row in self._store.rows("MATCH (p:Package) WHERE NOT p.test RETURN p.id")]
        statement = "MATCH (f:File)-[:IMPORTS]->(p:Package) RETURN p.id, count(*)"
        importers = {row[0]: row[1] for row in self._store.rows(statement)}
        return sorted(names, key=lambda id: (-importers.get(id, 0), id))

    def _summarized_symbols(self, path: str) -> Iterator[tuple[str, str]]:
        statement = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol) RETURN s.line, s.id, s.qualified_name, s.kind"
        for _, id, name, kind in sorted(self._rows(statement, path)):
            if kind in SUMMED_UP:
                yield id, name

    def _outline(self, path: str) -> str:
        statement = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol) RETURN s.line, s.signature"
        return "\n".join(dict.fromkeys(row[1] for row in sorted(self._rows(statement, path)) if row[1]))

    def _doc(self, package: str) -> str:
        rows = self._rows("MATCH (p:Package {id: $id}) RETURN p.doc", package)
        return rows[0][0] if rows else ""

    def _signature(self, symbol: str) -> tuple[str, str]:
        rows = self._rows("MATCH (s:Symbol {id: $id}) RETURN s.signature, s.file", symbol)
        return (rows[0][1], text_digest(rows[0][0])) if rows else ("", "")

    def _rows(self, statement: str, id: str) -> list[list[Any]]:
        return list(self._store.rows(statement, {"id": id}))

    def _file_bytes(self, path: str) -> bytes:
        if path not in self._bytes:
            digests = self._rows("MATCH (f:File {id: $id}) RETURN f.digest", path)
            try:
                data = read_regular(self._root / path, SOURCE_LIMIT, follow=True)
            except OSError as failure:
                raise GraphBehind(path) from failure
            if not digests or blake2b(data, digest_size=16).hexdigest() != digests[0][0]:
                raise GraphBehind(path)
            self._bytes[path] = data
        return self._bytes[path]


def inputs_of(store: Store, root: Path, knowledge: Knowledge, level: str, subject: str) -> Inputs | None:
    """The current inputs of a summary; None if the graph does not have the subject, or is behind a file."""
    return inputs_from(InputReader(store, root, knowledge), level, subject)


def inputs_from(reader: InputReader, level: str, subject: str) -> Inputs | None:
    """Like `inputs_of`, with an `InputReader` that is shared by many subjects."""
    try:
        if level == "symbol":
            pieces: Iterable[InputText] = reader.symbol(subject)
        elif level == "file":
            pieces = reader.file(subject)
        elif level == "package":
            pieces = reader.package(subject)
        else:
            pieces = reader.repository() if subject == REPOSITORY_ID else ()
    except GraphBehind:
        return None
    found = tuple(pieces)
    return Inputs(level, subject, found) if found else None


def text_digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
