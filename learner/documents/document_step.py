"""The documents of a repository → sections in the graph, linked to the code they name: a step after a learn.

Only documents that have changed are read again, and only those are linked again that use a name whose bearers have
changed. What is read is kept in `cache.db` (see `graph.knowledge.documents`); the graph gets a copy. How a document is
read is `sections`' affair, what it names that of `doclinks`.
"""

from __future__ import annotations

import posixpath
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from golore.graph.database.projection import Projection, is_projected, project_since
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_meta
from golore.graph.errors import StoreBusy, StoreError
from golore.graph.files.cache_db import Cache
from golore.graph.files.manifest import read_manifest
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.knowledge.documents import DocumentIndex, DocumentLink, Example, StoredDocument, create_document_index
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Doc, Edge
from golore.learner.checkout.discovery import digest
from golore.learner.checkout.freshness import RECENT_NS, found_documents
from golore.learner.documents.mention_targets import (
    Row,
    all_targets,
    by_key,
    existing_packages,
    is_example,
    look_of,
    outside_packages,
    resolved_examples,
    targets_in,
)
from golore.learner.documents.mentions import (
    DocumentMention,
    MentionTarget,
    keys,
    linked,
    meaning,
    mentions,
    outside_names,
)
from golore.learner.documents.sections import Page, read_document
from golore.learner.extraction import facts as f
from golore.learner.pipeline.stored_keys import STATE

_EDITION: Final = "1"
"""Of how documents are read and linked; another one reads all of them anew."""
_KINDS: Final = tuple(kind for kind in EDGE_KINDS if kind.source == "Doc")


class LearnedDocuments(NamedTuple):
    """How many documents were read, how many linked again, and the places whose cards have other things to tell."""

    read: int = 0
    linked: int = 0
    card_paths: frozenset[str] = frozenset()


class _Section(msgspec.Struct, frozen=True, array_like=True, gc=False):
    anchor: str
    title: str
    level: int
    line: int
    end_line: int
    text: str
    mentions: tuple[DocumentMention, ...]


class _Content(msgspec.Struct, frozen=True, array_like=True, gc=False):
    sections: tuple[_Section, ...]
    record: bool
    status: str


_decode: Final = msgspec.msgpack.Decoder(_Content).decode
_encode: Final = msgspec.msgpack.encode


def update_documents(
    root: Path,
    store_directory: Path,
    *,
    changed: Collection[str] | None = None,
    is_about_code: bool = False,
    whole: bool = False,
) -> LearnedDocuments:
    """Bring documents up to date with their files and with the graph. `changed`: the Go files that have, where that is
    known. `is_about_code`: no document has changed. `whole`: read all of them."""
    try:
        with create_document_index(store_directory) as document_index:
            if whole or document_index.meta("edition") != _EDITION:
                changed, is_about_code = None, False
                with document_index.transaction():
                    document_index.clear()
                    document_index.set_meta("edition", _EDITION)
            return _renew(root, store_directory, document_index, changed, is_about_code)
    except sqlite3.Error as failure:
        raise StoreError(
            f"What documents say could not be written to {store_directory}: {failure}. "
            "The graph is up to date all the same; run `golore learn` again for the documents."
        ) from failure


def _renew(
    root: Path, directory: Path, document_index: DocumentIndex, changed: Collection[str] | None, is_about_code: bool
) -> LearnedDocuments:
    change = _Change(set(), set())
    read = 0 if is_about_code else _renew_pages(root, directory, document_index, change)
    looks = None if changed is None else _other_looks(directory, document_index, changed)
    if looks or looks is None or not document_index.is_linked:
        linked_again = _renew_links(directory, document_index, looks if document_index.is_linked else None, change)
    else:
        linked_again = 0
    # A graph that was loaded anew has no documents, whatever has changed in the code.
    is_same_graph = document_index.meta("database") == _database(directory)
    _project(directory, document_index, change, is_sure=changed is not None and is_same_graph)
    return LearnedDocuments(read, linked_again, frozenset(change.places))


def _other_looks(directory: Path, document_index: DocumentIndex, changed: Collection[str]) -> dict[str, str]:
    """Those of the changed files that declare other names or import other packages than when they were last looked at,
    and how they look now. An edit of a body ends here."""
    with Cache.open(directory / CACHE_NAME) as cache:
        looks = {path: _appearance(cache, path) for path in changed}
    return {path: look for path, look in looks.items() if not look or look != document_index.appearance(path)}


def _appearance(cache: Cache, path: str) -> str:
    """How a file looks by what is cached of it; empty where nothing is."""
    file = cache.file(path)
    outline = next((data for _, data in cache.get_outlines([file.key])), None) if file is not None else None
    if outline is None:
        return ""
    told = f.decode_outline(outline)
    return look_of(told.shape, [(one.name, one.line) for one in told.symbols if is_example(one.kind, one.name, path)])


class _Change(NamedTuple):
    """The cards that have other things to tell, and the nodes of sections that may be others, of old ones too."""

    places: set[str]
    sections: set[str]


def _renew_pages(root: Path, directory: Path, document_index: DocumentIndex, change: _Change) -> int:
    """Read the documents that have changed, and put them on the shelf, not linked; how many."""
    found = found_documents(root, directory)
    known = document_index.pages()
    gone = known.keys() - found.keys()
    read, confirmed = _read_changed(root, known, found)
    old = gone | {page.path for page, _ in read}
    change.places.update(link.card_path for link in document_index.links(gone))
    change.sections.update(
        id for path, content in document_index.contents(old) for id in _section_ids(path, _decode(content))
    )
    if not (gone or read or confirmed):
        return 0
    with document_index.transaction():
        document_index.remove(gone)
        for page in confirmed:
            document_index.confirm(page)
        for page, content in read:
            used = {key for section in content.sections for mention in section.mentions for key in keys(mention)}
            document_index.put(page, _encode(content), sorted(used))
    return len(read)


def _read_changed(
    root: Path, known: Mapping[str, StoredDocument], found: Mapping[str, tuple[int, int]]
) -> tuple[list[tuple[StoredDocument, _Content]], list[StoredDocument]]:
    """What other documents say than before, and those that say the same in spite of their times."""
    now_ns = time.time_ns()
    read: list[tuple[StoredDocument, _Content]] = []
    confirmed: list[StoredDocument] = []
    for path, (size, mtime_ns) in found.items():
        last = known.get(path)
        if last is not None and (last.size, last.mtime_ns) == (size, mtime_ns):
            continue
        try:
            data = (root / path).read_bytes()
        except OSError:
            continue  # gone or locked since; the next learn looks again
        page = StoredDocument(path, digest(data), len(data), mtime_ns if mtime_ns < now_ns - RECENT_NS else 0, "")
        if last is not None and last.digest == page.digest:
            confirmed.append(page)
        else:
            read.append((page, _content(path, read_document(path, data))))
    return read, confirmed


def _content(path: str, page: Page) -> _Content:
    sections = (
        _Section(one.anchor, one.title, one.level, one.line, one.end_line, one.text, mentions(path, one.pieces))
        for one in page.sections
    )
    return _Content(tuple(sections), page.record, page.status)


def _renew_links(
    directory: Path, document_index: DocumentIndex, looks: Mapping[str, str] | None, change: _Change
) -> int:
    """Link again what may mean other things than before; how many documents. `looks`: files that declare other things,
    where that is known, and how they look."""
    with Store.open(directory, write=False) as store:
        renewed = _renewed_targets(store, document_index, looks)
    before, after, examples = renewed.before, renewed.after, renewed.examples
    with document_index.transaction():
        document_index.change_targets(before - after, after - before)
        if examples is not None:
            _renew_examples(document_index, renewed.directories, examples, change.places)
        pages = document_index.pages()
        is_same_outside = document_index.meta("outside") == renewed.outside
        affected = {path for path, page in pages.items() if not page.links}
        affected |= document_index.using({row[0] for row in before ^ after}) if is_same_outside else pages.keys()
        document_index.set_meta("outside", renewed.outside)
        document_index.set_meta("graph", renewed.graph)
        document_index.set_appearances(renewed.looks, is_all=looks is None and bool(renewed.looks))
        outside = outside_names(renewed.outside.split("\n"))
        for path, content in document_index.contents(affected):
            _link_page(document_index, path, _decode(content), pages[path], outside, change)
    return len(affected)


class _Renewed(NamedTuple):
    """The rows of targets that were there and are now, of the whole graph or around what has changed; and the examples
    of these directories, or all; None for those where nothing is new."""

    before: set[Row]
    after: set[Row]
    directories: set[str] | None
    examples: list[Example] | None
    looks: Mapping[str, str]
    outside: str
    graph: str


def _renewed_targets(store: Store, document_index: DocumentIndex, changed: Mapping[str, str] | None) -> _Renewed:
    outside = "\n".join(outside_packages(store))
    graph = read_meta(store, STATE)
    wanted = document_index.keys()
    if changed is not None:
        before, after, examples = _around(store, document_index, changed, wanted)
        directories = {posixpath.dirname(path) for path in changed}
        return _Renewed(before, after, directories, examples, changed, outside, graph)
    if document_index.is_linked and document_index.meta("graph") == graph:
        return _Renewed(set(), set(), None, None, {}, outside, graph)
    found = all_targets(store, wanted)
    return _Renewed(document_index.all_targets(), found.rows, None, found.examples, found.looks, outside, graph)


def _around(
    store: Store, document_index: DocumentIndex, changed: Collection[str], wanted: set[str]
) -> tuple[set[Row], set[Row], list[Example]]:
    """What changed files declared and declare, and the examples beside them."""
    directories = {posixpath.dirname(path) for path in changed}
    before = document_index.targets_in(changed)
    found = targets_in(store, changed, wanted)
    after = {row for row in found.rows if row[1] != "Package"}
    # Where a declaration gets a twin, or loses one, the other one gets another id.
    names = {(row[3], row[6]) for row in before ^ after}
    others = document_index.targets({row[0] for row in before ^ after})
    beside = {row[5] for row in others if (row[3], row[6]) in names} - {*changed, ""}
    before |= document_index.targets_in(beside)
    after |= {row for row in targets_in(store, beside, wanted).rows if row[1] != "Package"}
    packages = document_index.packages_at(directories)
    there = existing_packages(store, (row[2] for row in packages))
    before |= packages
    after |= {row for row in packages if row[2] in there} | {row for row in found.rows if row[1] == "Package"}
    kept = [one for one in document_index.examples(directories) if one.file not in changed]
    return before, after, resolved_examples(store, [*kept, *found.examples])


def _renew_examples(
    document_index: DocumentIndex, directories: set[str] | None, examples: Iterable[Example], places: set[str]
) -> None:
    before, after = set(document_index.examples(directories)), set(examples)
    if before != after:
        document_index.set_examples(directories, sorted(after))
        places.update(one.card_path for one in before ^ after if one.card_path)


def _link_page(
    document_index: DocumentIndex,
    path: str,
    page: _Content,
    shelved: StoredDocument,
    outside: Collection[str],
    change: _Change,
) -> None:
    used = {key for section in page.sections for mention in section.mentions for key in keys(mention)}
    targets = by_key(document_index.targets(used))
    links = [link for section in page.sections for link in _section_links(path, page, section, targets, outside)]
    found = _digest_of(links)
    if found != shelved.links:
        change.places.update(link.card_path for link in {*document_index.links([path])} ^ {*links})
        change.sections.update(_section_ids(path, page))
        document_index.set_links(path, found, links)


def _section_ids(path: str, page: _Content) -> Iterator[str]:
    return (doc_id(path, section.anchor) for section in page.sections)


def _section_links(
    path: str,
    page: _Content,
    section: _Section,
    targets: dict[str, tuple[MentionTarget, ...]],
    outside: Collection[str],
) -> Iterator[DocumentLink]:
    def code(key: str) -> tuple[MentionTarget, ...]:
        return targets.get(key, ())

    known = {(one.label, one.id): one for some in targets.values() for one in some}
    meanings = {mention: meaning(mention, path, code, outside) for mention in section.mentions}
    for (label, id), (evidence, sites) in linked(meanings).items():
        target = known[label, id]
        place = target.file or (f"{target.dir}/" if target.dir else "./")
        about = (path, section.anchor, section.title, section.line, page.record, page.status)
        yield DocumentLink(*about, label, id, target.name, place, evidence, sites)


def _digest_of(links: Iterable[DocumentLink]) -> str:
    return digest(_encode([tuple(link) for link in links]))


def _project(directory: Path, document_index: DocumentIndex, change: _Change, *, is_sure: bool) -> None:
    """Have the graph say the same as the shelf. It is not asked where one can be `is_sure` that it did before."""
    mark, last = _mark(document_index), document_index.meta("projected")
    if mark == last and is_sure:
        return
    is_partly = mark != last
    if not is_partly:
        with Store.open(directory, write=False) as store:
            is_there = is_projected(store, "Doc", mark) and _has_all_edges(store, document_index)
        if is_there:
            _note_projected(directory, document_index, mark)
            return
        with document_index.transaction():
            document_index.set_meta("round", str(int(document_index.meta("round") or "0") + 1))
        mark = _mark(document_index)
    try:
        project_since(
            directory,
            "Doc",
            lambda there: _projection(document_index, mark, change if is_partly and there == last else None),
        )
    except StoreBusy:
        return  # another learn goes on, which will do the same
    _note_projected(directory, document_index, mark)


def _note_projected(directory: Path, document_index: DocumentIndex, mark: str) -> None:
    with document_index.transaction():
        document_index.set_meta("projected", mark)
        document_index.set_meta("database", _database(directory))


def _database(directory: Path) -> str:
    manifest = read_manifest(directory)
    return manifest.graph if manifest is not None else ""


def _mark(document_index: DocumentIndex) -> str:
    """Names all sections and links there are, and the attempt to have them in the graph."""
    hashed = blake2b(f"{_EDITION} {document_index.meta('round')}".encode(), digest_size=16)
    for page in document_index.pages().values():
        hashed.update("\0".join((page.path, page.digest, page.links, "")).encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def _has_all_edges(store: Store, document_index: DocumentIndex) -> bool:
    """Edges may have gone along with a declaration that has returned since."""
    ends = (f"MATCH (:Doc)-[e:{kind.label}]->(:{kind.target}) RETURN count(*)" for kind in _KINDS)
    return sum(next(store.rows(statement))[0] for statement in ends) == document_index.link_count


def _projection(document_index: DocumentIndex, mark: str, change: _Change | None) -> Projection:
    """What the graph is to have: of the sections that may be others, or of all."""
    wanted = None if change is None else change.sections
    paths = document_index.pages().keys()
    if wanted is not None:
        paths = paths & {id.partition("#")[0] for id in wanted}
    nodes: list[Doc] = []
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in _KINDS}
    for path, content in document_index.contents(paths):
        page = _decode(content)
        for one in page.sections:
            place = (doc_id(path, one.anchor), path, one.title, one.level, one.line, one.end_line)
            nodes.append(Doc(*place, one.text, page.record, page.status))
    for link in document_index.links(paths):
        edge = Edge(doc_id(link.path, link.section), link.target, link.sites, link.evidence)
        edges[EdgeKind("DESCRIBES", "Doc", link.label)].append(edge)
    ids = None if wanted is None else sorted({*wanted, *(node.id for node in nodes)})
    return Projection("Doc", nodes, edges, mark, ids)


def doc_id(path: str, anchor: str) -> str:
    return f"{path}#{anchor}" if anchor else path
