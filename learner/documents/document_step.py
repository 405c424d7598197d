"""Puts the sections of documents into the graph, linked to the code they name: a step after the graph is written.

Only changed documents are read again. A document is linked again if it uses a name whose declarations have changed, or
if the imported external packages have changed. The results are stored in `cache.db` (see `graph.knowledge.documents`)
and copied to the graph. `sections` reads documents; `mentions` finds the code that they name.
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
from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.projection import Projection, is_projected, project_from_stored_key
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_meta
from golore.graph.errors import StoreBusy, StoreError
from golore.graph.files.cache_db import Cache
from golore.graph.files.file_state import FileState, is_unchanged, state_to_record
from golore.graph.files.manifest import read_manifest
from golore.graph.files.store_path import CACHE_NAME
from golore.graph.knowledge.documents import DocumentIndex, DocumentLink, Example, StoredDocument, create_document_index
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.entities import Doc, Edge
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.freshness import found_documents
from golore.learner.documents.mention_targets import (
    Row,
    all_outside_packages,
    all_targets,
    appearance_of,
    by_key,
    existing_packages,
    is_example,
    outside_packages,
    resolved_examples,
    targets_in,
)
from golore.learner.documents.mentions import (
    DocumentMention,
    MentionTarget,
    link_nodes,
    mention_keys,
    mentions,
    outside_names,
    resolve_mention,
)
from golore.learner.documents.sections import Page, read_document
from golore.learner.extraction import facts as f
from golore.learner.pipeline.stored_keys import STATE

_READER_VERSION: Final = "1"
"""The version of reading and linking; when it changes, all documents are read again."""
_EDGE_KINDS: Final = tuple(kind for kind in EDGE_KINDS if kind.source == "Doc")


class LearnedDocuments(NamedTuple):
    """The number of documents that were read and linked, and the cards whose document lines may have changed."""

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


class DocumentContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    sections: tuple[_Section, ...]
    record: bool
    status: str


_decode: Final = msgspec.msgpack.Decoder(DocumentContent).decode
_encode: Final = msgspec.msgpack.encode


def update_documents(
    root: Path,
    store_directory: Path,
    *,
    changed: Collection[str] | None = None,
    is_only_code: bool = False,
    found: Mapping[str, FileState] | None = None,
    whole: bool = False,
) -> LearnedDocuments:
    """Bring the stored documents up to date with their files and with the graph. `changed`: the Go files that changed,
    if known. `is_only_code`: no document has changed. `found`: the documents, if they were just listed. `whole`: read
    all documents again."""
    try:
        with create_document_index(store_directory) as document_index:
            if whole or document_index.meta("edition") != _READER_VERSION:
                changed, is_only_code = None, False
                replace_documents(document_index, ())
            change = DocumentChange(set(), set())
            read = 0
            if not is_only_code:
                now = found_documents(root, store_directory) if found is None else found
                read = _update_pages(root, now, document_index, change)
            return _update(store_directory, document_index, changed, read, change)
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write the documents to {store_directory}: {failure}. "
            "The graph of the code is up to date; run `golore learn` again for the documents."
        ) from failure


def _update(
    directory: Path,
    document_index: DocumentIndex,
    changed: Collection[str] | None,
    read: int,
    change: DocumentChange,
) -> LearnedDocuments:
    """Link the documents, `read` of which were read again, and copy them to the graph."""
    appearances = None if changed is None else _changed_appearances(directory, document_index, changed)
    if appearances or appearances is None or not document_index.is_linked:
        with Store.open(directory, write=False) as store:
            linked_again = update_links(
                store, document_index, appearances if document_index.is_linked else None, change
            )
    else:
        linked_again = 0
    # A graph that was loaded from scratch has no documents, whatever has changed in the code.
    is_same_graph = document_index.meta("database") == _database(directory)
    _project(directory, document_index, change, is_graph_known=changed is not None and is_same_graph)
    return LearnedDocuments(read, linked_again, frozenset(change.card_paths))


def _changed_appearances(directory: Path, document_index: DocumentIndex, changed: Collection[str]) -> dict[str, str]:
    """The changed files whose appearance (see `appearance_of`) is unknown or differs from the stored one, with the new
    appearance. An edit of a body does not change it, so no document is linked again."""
    with Cache.open(directory / CACHE_NAME) as cache:
        appearances = {path: _cached_appearance(cache, path) for path in changed}
    return {path: new for path, new in appearances.items() if not new or new != document_index.appearance(path)}


def _cached_appearance(cache: Cache, path: str) -> str:
    """The appearance of a file from its cached outline; empty if there is none."""
    file = cache.file(path)
    data = next((data for _, data in cache.get_outlines([file.key])), None) if file is not None else None
    if data is None:
        return ""
    outline = f.decode_outline(data)
    examples = [(one.name, one.line) for one in outline.symbols if is_example(one.kind, one.name, path)]
    return appearance_of(outline.shape, examples)


class DocumentChange(NamedTuple):
    """The cards whose document lines may have changed, and the ids of sections, old and new, that may have changed."""

    card_paths: set[str]
    sections: set[str]


def _update_pages(
    root: Path, found: Mapping[str, FileState], document_index: DocumentIndex, change: DocumentChange
) -> int:
    """Read the changed documents and store them without links. Returns how many were read."""
    known = document_index.pages()
    gone = known.keys() - found.keys()
    read, confirmed = read_changed(root, known, found)
    old_paths = gone | {page.path for page, _ in read}
    change.card_paths.update(link.card_path for link in document_index.links(gone))
    change.sections.update(
        id for path, content in document_index.contents(old_paths) for id in _section_ids(path, _decode(content))
    )
    if not (gone or read or confirmed):
        return 0
    with document_index.transaction():
        document_index.remove(gone)
        for page in confirmed:
            document_index.confirm(page)
        _put(document_index, read)
    return len(read)


def replace_documents(document_index: DocumentIndex, read: Iterable[tuple[StoredDocument, DocumentContent]]) -> None:
    """Forget everything about documents, and store these, without links."""
    with document_index.transaction():
        document_index.clear()
        document_index.set_meta("edition", _READER_VERSION)
        _put(document_index, read)


def _put(document_index: DocumentIndex, read: Iterable[tuple[StoredDocument, DocumentContent]]) -> None:
    for page, content in read:
        used = {key for section in content.sections for mention in section.mentions for key in mention_keys(mention)}
        document_index.put(page, _encode(content), sorted(used))


def read_changed(
    root: Path, known: Mapping[str, StoredDocument], found: Mapping[str, FileState]
) -> tuple[list[tuple[StoredDocument, DocumentContent]], list[StoredDocument]]:
    """The documents with a new digest, and those with a new state but the same digest."""
    since_ns = time.time_ns()
    read: list[tuple[StoredDocument, DocumentContent]] = []
    confirmed: list[StoredDocument] = []
    for path, state in found.items():
        last = known.get(path)
        if last is not None and is_unchanged(last.state, state):
            continue
        try:
            data = read_regular(root / path, SOURCE_LIMIT)
        except OSError:
            continue  # deleted or locked since; the next learn tries again
        content = digest(data)
        if last is not None and last.digest == content:
            now = state_to_record(state._replace(size=len(data)), since_ns, last.state)
            confirmed.append(StoredDocument(path, content, now, ""))
        else:
            page = StoredDocument(path, content, state_to_record(state._replace(size=len(data)), since_ns), "")
            read.append((page, _stored_content(path, read_document(path, data))))
    return read, confirmed


def _stored_content(path: str, page: Page) -> DocumentContent:
    sections = (
        _Section(one.anchor, one.title, one.level, one.line, one.end_line, one.text, mentions(path, one.pieces))
        for one in page.sections
    )
    return DocumentContent(tuple(sections), page.record, page.status)


def update_links(
    store: Store, document_index: DocumentIndex, appearances: Mapping[str, str] | None, change: DocumentChange
) -> int:
    """Link the documents whose mentions may have another meaning now. Returns how many. `appearances`: the files whose
    appearance changed, if known."""
    if appearances is None:
        return update_all_links(store, read_meta(store, STATE), document_index, change)
    return _link(document_index, _update_around(store, document_index, appearances), change, is_whole=False)


def update_all_links(tables: GraphTables, state: str, document_index: DocumentIndex, change: DocumentChange) -> int:
    """Like `update_links`, if it is not known what changed in the graph, which has this state."""
    return _link(document_index, _whole_update(tables, state, document_index), change, is_whole=True)


def _link(document_index: DocumentIndex, update: _TargetUpdate, change: DocumentChange, *, is_whole: bool) -> int:
    before, after, examples = update.before, update.after, update.examples
    with document_index.transaction():
        document_index.change_targets(before - after, after - before)
        if examples is not None:
            _update_examples(document_index, update.directories, examples, change.card_paths)
        pages = document_index.pages()
        is_same_outside = document_index.meta("outside") == update.outside
        affected = {path for path, page in pages.items() if not page.links}
        affected |= (
            document_index.documents_using({row[0] for row in before ^ after}) if is_same_outside else pages.keys()
        )
        document_index.set_meta("outside", update.outside)
        document_index.set_meta("graph", update.graph)
        document_index.set_appearances(update.appearances, is_all=is_whole and bool(update.appearances))
        outside = outside_names(update.outside.split("\n"))
        for path, content in document_index.contents(affected):
            _link_page(document_index, path, _decode(content), pages[path], outside, change)
    return len(affected)


class _TargetUpdate(NamedTuple):
    """Rows of targets before and after, of the whole graph or around the changed files. `examples` are those of
    `directories`, or of all if that is None; they are None if nothing has changed."""

    before: set[Row]
    after: set[Row]
    directories: set[str] | None
    examples: list[Example] | None
    appearances: Mapping[str, str]
    outside: str
    graph: str


def _update_around(store: Store, document_index: DocumentIndex, changed: Mapping[str, str]) -> _TargetUpdate:
    outside = "\n".join(outside_packages(store))
    before, after, examples = _targets_around(store, document_index, changed, document_index.keys())
    directories = {posixpath.dirname(path) for path in changed}
    return _TargetUpdate(before, after, directories, examples, changed, outside, read_meta(store, STATE))


def _whole_update(tables: GraphTables, state: str, document_index: DocumentIndex) -> _TargetUpdate:
    outside = "\n".join(all_outside_packages(tables))
    if document_index.is_linked and document_index.meta("graph") == state:
        return _TargetUpdate(set(), set(), None, None, {}, outside, state)
    found = all_targets(tables, document_index.keys())
    return _TargetUpdate(
        document_index.all_targets(), found.rows, None, found.examples, found.appearances, outside, state
    )


def _targets_around(
    store: Store, document_index: DocumentIndex, changed: Collection[str], wanted: set[str]
) -> tuple[set[Row], set[Row], list[Example]]:
    """The targets in the changed files before and after, and the examples in their directories."""
    directories = {posixpath.dirname(path) for path in changed}
    before = document_index.targets_in(changed)
    found = targets_in(store, changed, wanted)
    after = {row for row in found.rows if row[1] != "Package"}
    # If a declaration gains or loses a twin, the id of the other twin changes.
    names = {(row[3], row[6]) for row in before ^ after}
    others = document_index.targets({row[0] for row in before ^ after})
    twin_files = {row[5] for row in others if (row[3], row[6]) in names} - {*changed, ""}
    before |= document_index.targets_in(twin_files)
    after |= {row for row in targets_in(store, twin_files, wanted).rows if row[1] != "Package"}
    packages = document_index.packages_at(directories)
    existing = existing_packages(store, (row[2] for row in packages))
    before |= packages
    after |= {row for row in packages if row[2] in existing} | {row for row in found.rows if row[1] == "Package"}
    other_examples = [one for one in document_index.examples(directories) if one.file not in changed]
    return before, after, resolved_examples(store, [*other_examples, *found.examples])


def _update_examples(
    document_index: DocumentIndex, directories: set[str] | None, examples: Iterable[Example], card_paths: set[str]
) -> None:
    before, after = set(document_index.examples(directories)), set(examples)
    if before != after:
        document_index.set_examples(directories, sorted(after))
        card_paths.update(one.card_path for one in before ^ after if one.card_path)


def _link_page(
    document_index: DocumentIndex,
    path: str,
    page: DocumentContent,
    stored: StoredDocument,
    outside: Collection[str],
    change: DocumentChange,
) -> None:
    used = {key for section in page.sections for mention in section.mentions for key in mention_keys(mention)}
    targets = by_key(document_index.targets(used))
    known = {(one.label, one.id): one for group in targets.values() for one in group}
    links = [link for section in page.sections for link in _section_links(path, page, section, targets, known, outside)]
    links_digest = _digest_of(links)
    if links_digest != stored.links:
        change.card_paths.update(link.card_path for link in {*document_index.links([path])} ^ {*links})
        change.sections.update(_section_ids(path, page))
        document_index.set_links(path, links_digest, links)


def _section_ids(path: str, page: DocumentContent) -> Iterator[str]:
    return (doc_id(path, section.anchor) for section in page.sections)


def _section_links(
    path: str,
    page: DocumentContent,
    section: _Section,
    targets: dict[str, tuple[MentionTarget, ...]],
    known: dict[tuple[str, str], MentionTarget],
    outside: Collection[str],
) -> Iterator[DocumentLink]:
    def code(key: str) -> tuple[MentionTarget, ...]:
        return targets.get(key, ())

    meanings = {mention: resolve_mention(mention, path, code, outside) for mention in section.mentions}
    for (label, id), (evidence, sites) in link_nodes(meanings).items():
        target = known[label, id]
        card_path = target.file or (f"{target.dir}/" if target.dir else "./")
        section_fields = (path, section.anchor, section.title, section.line, page.record, page.status)
        yield DocumentLink(*section_fields, label, id, target.name, card_path, evidence, sites)


def _digest_of(links: Iterable[DocumentLink]) -> str:
    return digest(_encode([tuple(link) for link in links]))


def _project(directory: Path, document_index: DocumentIndex, change: DocumentChange, *, is_graph_known: bool) -> None:
    """Copy the stored documents to the graph, if they differ. `is_graph_known`: the graph has what was last recorded as
    projected, so it need not be queried."""
    mark, last = projection_mark(document_index), document_index.meta("projected")
    if mark == last and is_graph_known:
        return
    is_partial = mark != last
    if not is_partial:
        with Store.open(directory, write=False) as store:
            is_complete = is_projected(store, "Doc", mark) and _has_all_edges(store, document_index)
        if is_complete:
            record_projected(directory, document_index, mark)
            return
        with document_index.transaction():
            document_index.set_meta("round", str(int(document_index.meta("round") or "0") + 1))
        mark = projection_mark(document_index)
    try:
        project_from_stored_key(
            directory,
            "Doc",
            lambda current_mark: projection_of(
                document_index, mark, change if is_partial and current_mark == last else None
            ),
        )
    except StoreBusy:
        return  # another learn is running, which will do the same
    record_projected(directory, document_index, mark)


def record_projected(directory: Path, document_index: DocumentIndex, mark: str) -> None:
    with document_index.transaction():
        document_index.set_meta("projected", mark)
        document_index.set_meta("database", _database(directory))


def _database(directory: Path) -> str:
    manifest = read_manifest(directory)
    return manifest.graph if manifest is not None else ""


def projection_mark(document_index: DocumentIndex) -> str:
    """A digest of all sections and links, and of the number of forced projections."""
    hashed = blake2b(f"{_READER_VERSION} {document_index.meta('round')}".encode(), digest_size=16)
    for page in document_index.pages().values():
        hashed.update("\0".join((page.path, page.digest, page.links, "")).encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def _has_all_edges(store: Store, document_index: DocumentIndex) -> bool:
    """Whether the graph has an edge for each link: one is missing if its declaration was removed and added again."""
    statements = (f"MATCH (:Doc)-[e:{kind.label}]->(:{kind.target}) RETURN count(*)" for kind in _EDGE_KINDS)
    return sum(next(store.rows(statement))[0] for statement in statements) == document_index.link_count


def projection_of(document_index: DocumentIndex, mark: str, change: DocumentChange | None) -> Projection:
    """The nodes and edges for the graph: of the sections in `change`, or of all if it is None."""
    wanted = None if change is None else change.sections
    paths = document_index.pages().keys()
    if wanted is not None:
        paths = paths & {id.partition("#")[0] for id in wanted}
    nodes: list[Doc] = []
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in _EDGE_KINDS}
    for path, content in document_index.contents(paths):
        page = _decode(content)
        for one in page.sections:
            fields = (doc_id(path, one.anchor), path, one.title, one.level, one.line, one.end_line)
            nodes.append(Doc(*fields, one.text, page.record, page.status))
    for link in document_index.links(paths):
        edge = Edge(doc_id(link.path, link.section), link.target, link.sites, link.evidence)
        edges[EdgeKind("DESCRIBES", "Doc", link.label)].append(edge)
    ids = None if wanted is None else sorted({*wanted, *(node.id for node in nodes)})
    return Projection("Doc", nodes, edges, mark, ids)


def doc_id(path: str, anchor: str) -> str:
    return f"{path}#{anchor}" if anchor else path
