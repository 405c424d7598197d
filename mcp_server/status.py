"""`golore status`: what the store holds, and how far it is behind the files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from golore.graph.answers import Census
from golore.graph.cache import Cache, CachedFile
from golore.graph.errors import RepositoryError, StoreError
from golore.graph.manifest import read_manifest
from golore.graph.questions import census
from golore.graph.store import Store
from golore.learner.discover import SourceFile, digest, discover
from golore.mcp_server.output import columns, counted, print_json, print_lines, styled
from golore.mcp_server.place import Place, find_place

_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that are not as they were learned. Changed go.mod files are not looked for."""

    added: tuple[str, ...]
    edited: tuple[str, ...]
    deleted: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.added) + len(self.edited) + len(self.deleted)


@dataclass(frozen=True, slots=True)
class FileProblem:
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class Status:
    root: Path
    store: Path
    golore: str
    engine: str
    learned_at: str
    size_bytes: int
    counts: Census
    problems: tuple[FileProblem, ...]
    changes: Changes
    up_to_date: bool


def run_status(start: Path, *, as_json: bool) -> int:
    status = status_of(find_place(start))
    if as_json:
        print_json(status)
    else:
        print_lines(_lines(status))
    return 0


def status_of(place: Place) -> Status:
    manifest = read_manifest(place.store)
    with Store.open(place.store, write=False) as store:
        counts = census(store)
        learned = {row[0]: row[1] for row in store.rows("MATCH (f:File) RETURN f.path, f.digest")}
        rows = store.rows("MATCH (f:File) WHERE size(f.problems) > 0 RETURN f.path, f.problems ORDER BY f.path")
        problems = tuple(FileProblem(path, message) for path, messages in rows for message in messages)
    changes = changes_since(place, learned)
    sizes = [path.stat() for path in place.store.iterdir() if path.is_file()]
    graphs = [path.stat().st_mtime for path in place.store.glob("graph-*")]
    return Status(
        place.root,
        place.store,
        manifest.golore if manifest else "",
        manifest.engine if manifest else "",
        datetime.fromtimestamp(max(graphs, default=0), UTC).isoformat(timespec="seconds"),
        sum(size.st_size for size in sizes),
        counts,
        problems,
        changes,
        len(changes) == 0,
    )


def changes_since(place: Place, learned: dict[str, str]) -> Changes:
    """Compare the files of the tree with the digests that were learned."""
    try:
        files = {file.path: file for file in discover(place.root).files}
    except RepositoryError:
        files = {}
    seen = _seen(place.store)
    return Changes(
        tuple(sorted(files.keys() - learned.keys())),
        tuple(path for path, file in sorted(files.items()) if path in learned and _differs(place, file, seen, learned)),
        tuple(sorted(learned.keys() - files.keys())),
    )


def _seen(store: Path) -> dict[str, CachedFile]:
    """What the last learn saw of each file; without it every file is read."""
    if not (store / "cache.db").is_file():
        return {}
    try:
        with Cache.open(store / "cache.db") as cache:
            return cache.files()
    except StoreError:
        return {}


def _differs(place: Place, file: SourceFile, seen: dict[str, CachedFile], learned: dict[str, str]) -> bool:
    last = seen.get(file.path)
    if last is not None and (last.size, last.mtime_ns) == (file.size, file.mtime_ns):
        return last.digest != learned[file.path]
    try:
        return digest((place.root / file.path).read_bytes()) != learned[file.path]
    except OSError:
        return True


def _lines(status: Status) -> list[str]:
    counts = status.counts
    rows = [
        ("packages", f"{counts.packages:,}"),
        ("files", f"{counts.files:,} ({counts.lines:,} lines)"),
        ("symbols", f"{sum(counts.symbols.values()):,} ({_listed(counts.symbols)})"),
        ("edges", f"{sum(counts.edges.values()):,} ({_listed(counts.edges)})"),
        ("externals", f"{counts.externals:,}"),
        ("unresolved", counted(counts.unresolved_sites, "site")),
        ("problems", f"{len(status.problems):,} in {counted(counts.files_with_problems, 'file')}"),
        ("store", f"{status.store} ({status.size_bytes / 1e6:,.1f} MB, {status.engine}, golore {status.golore})"),
        ("learned", status.learned_at),
    ]
    lines = [styled(str(status.root), "bold"), *columns(rows)]
    lines += [f"  {problem.file}: {problem.message}" for problem in status.problems[:_LISTED]]
    changes = status.changes
    if not len(changes):
        return [*lines, styled("Up to date with the files.", "green")]
    lines.append(styled(f"Behind the files: {counted(len(changes), 'file')} changed. Run `golore learn`.", "yellow"))
    listed = [
        (how, path)
        for how, paths in (("added", changes.added), ("edited", changes.edited), ("deleted", changes.deleted))
        for path in paths
    ]
    lines += columns(listed[:_LISTED])
    if len(listed) > _LISTED:
        lines.append(f"  and {len(listed) - _LISTED:,} more")
    return lines


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.lower()} {count:,}" for name, count in counts.items() if count) or "none"
