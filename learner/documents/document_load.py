"""The documents of a graph that is loaded as a whole: read while the code is read, linked while the graph is loaded,
and stored with it.

`document_step` does the same for a graph that is already stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.projection import meta_name
from golore.graph.errors import StoreError
from golore.graph.files.file_state import FileState
from golore.graph.knowledge.documents import DocumentIndex, StoredDocument, create_document_index
from golore.learner.documents.document_step import (
    DocumentChange,
    DocumentContent,
    projection_mark,
    projection_of,
    read_changed,
    record_projected,
    replace_documents,
    update_all_links,
)


def read_documents(root: Path, found: Mapping[str, FileState]) -> list[tuple[StoredDocument, DocumentContent]]:
    """Read all documents."""
    return read_changed(root, {}, found)[0]


def load_documents(
    directory: Path, tables: GraphTables, state: str, read: Iterable[tuple[StoredDocument, DocumentContent]]
) -> MoreRows:
    """Link the documents to a graph of this state, and replace the stored ones. Returns their rows for the graph."""
    with _document_index(directory) as document_index:
        replace_documents(document_index, read)
        update_all_links(tables, state, document_index, DocumentChange(set(), set()))
        projection = projection_of(document_index, projection_mark(document_index), None)
    return MoreRows(
        {projection.label: projection.nodes}, projection.edges, {meta_name(projection.label): projection.inputs_key}
    )


def record_loaded_documents(directory: Path) -> None:
    """Record that the current graph has the documents."""
    with _document_index(directory) as document_index:
        record_projected(directory, document_index, projection_mark(document_index))


@contextmanager
def _document_index(directory: Path) -> Generator[DocumentIndex]:
    try:
        with create_document_index(directory) as document_index:
            yield document_index
    except sqlite3.Error as failure:
        raise StoreError(
            f"Cannot write the documents to {directory}: {failure}. Run `golore learn` again."
        ) from failure
