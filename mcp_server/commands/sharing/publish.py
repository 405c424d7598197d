"""`golore publish`: publishes what was learned of the current commit to a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.errors import LakeError
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.heads import Head
from golore.graph.lake.keys import HeadKey
from golore.graph.phrases import amount, counted, listed
from golore.mcp_server.services.fleet.publication import learned_revision, publish_revision
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.text.output import print_json, print_lines, print_message

_NAMED: Final = 5


def run_publish(address: str, start: Path, *, name: str, must: bool, as_json: bool) -> int:
    address = lake_address(address)
    repository = find_repository(start)
    revision = learned_revision(repository, name)
    try:
        lake = open_lake(address)
        key, head = publish_revision(lake, revision, repository)
    except LakeError as failure:
        if must:
            raise
        print_message(f"golore: Nothing was published. {failure}")
        if as_json:
            print_json({"published": False, "error": str(failure)})
        return 0
    if head is None:
        _print_known(key, as_json=as_json)
    else:
        _print_published(lake.name, key, head, as_json=as_json)
    return 0


def _print_known(key: HeadKey, *, as_json: bool) -> None:
    if as_json:
        print_json({"published": False, "repository": key.repository, "commit": key.commit, "known": True})
    else:
        print_lines([f"{key.repository} at {key.commit[:12]} is already published."])


def _print_published(lake: str, key: HeadKey, head: Head, *, as_json: bool) -> None:
    size = sum(table.size for table in head.tables.values())
    packed = sum(file.packed.size for file in head.store.files.values()) if head.store is not None else 0
    if as_json:
        document = {"published": True, "lake": lake, "key": key.key, "bytes": size, "store_bytes": packed}
        names = ("repository", "commit", "version", "modules", "missing", "counts", "why_no_store")
        print_json({**document, **{name: getattr(head, name) for name in names}})
        return
    uses = sum(head.counts[name] for name in ("own", "across", "std"))
    lines = [f"Published {head.repository} at {key.commit[:12]}: {counted(uses, 'use')}, {amount(size + packed)}."]
    if head.why_no_store:
        lines.append(f"The store itself was not published: {head.why_no_store}. Others can ask, but not pull it.")
    if head.missing:
        lines.append(
            f"The source of {counted(len(head.missing), 'imported package')} was not available, so uses of their "
            f"methods are missing: {listed(head.missing, _NAMED)}. Run `go mod download` before the learn."
        )
    print_lines(lines)
