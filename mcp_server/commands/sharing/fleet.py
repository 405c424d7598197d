"""`golore fleet`: lists, checks, indexes and cleans what is in a lake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from golore.graph.lake.bucket import open_lake
from golore.graph.lake.fleet import Fleet, Member
from golore.graph.lake.heads import head_keys
from golore.graph.lake.keys import time_of
from golore.graph.lake.lake_index import compact
from golore.graph.lake.pruning import prune
from golore.graph.phrases import amount, counted
from golore.mcp_server.services.fleet.ray_pool import RayPool
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.text.fleet_text import published_age
from golore.mcp_server.text.output import columns, print_json, print_lines

_SKEW = timedelta(minutes=2)


def run_list(address: str, *, as_json: bool) -> int:
    with Fleet(open_lake(lake_address(address))) as fleet:
        members, unreadable = fleet.members, fleet.unreadable
    if as_json:
        print_json({"repositories": [_document(member) for member in members], "unreadable": unreadable})
        return 0
    rows = [
        (member.name, member.head.version or "-", member.key.commit[:12], published_age(member.head.published))
        for member in members
    ]
    lines = columns(rows, indent=0) or ["The lake is empty. `golore publish` adds a repository."]
    print_lines([*lines, *(f"{name}: {reason}" for name, reason in sorted(unreadable.items()))])
    return 0


def run_status(address: str, *, as_json: bool) -> int:
    """Print what is not current or not readable. Exit code 1 if a repository is not readable."""
    lake = open_lake(lake_address(address))
    keys = head_keys(lake)
    with Fleet(lake) as fleet:
        members, unreadable, index = fleet.members, dict(fleet.unreadable), fleet.index
    later = [member.name for member in members if member.number < 0]
    coldest = [member.name for member in members if member.head.store is None]
    ahead = sorted({key.repository for key in keys if time_of(key.stamp) > datetime.now(UTC) + _SKEW})
    incomplete = [member.name for member in members if member.head.missing]
    if as_json:
        print_json(
            {
                "lake": lake.name,
                "repositories": len(members),
                "publications": len(keys),
                "index": None if index is None else {"made": index.made.made, "covered": len(index.made.covered)},
                "published_since": later,
                "without_store": coldest,
                "without_sources": incomplete,
                "ahead_of_clock": ahead,
                "unreadable": unreadable,
            }
        )
        return 1 if unreadable else 0
    lines = [f"{lake.name}: {counted(len(members), 'repository')}, {counted(len(keys), 'publication')}."]
    if index is None:
        lines.append("There is no index: every question reads all repositories. Run `golore fleet compact`.")
    else:
        lines.append(f"The index covers {len(members) - len(later):,} of them, made {published_age(index.made.made)}.")
    parts = (
        ("Published since the index was made", later),
        ("Published without a store to pull", coldest),
        ("Published without the source of some dependencies", incomplete),
        ("Published in the future, so a clock is wrong", ahead),
    )
    lines += [f"{title}: {', '.join(names)}." for title, names in parts if names]
    lines += [f"Not readable: {name}. {reason}" for name, reason in sorted(unreadable.items())]
    print_lines(lines)
    return 1 if unreadable else 0


def run_compact(address: str, *, ray: str | None, as_json: bool) -> int:
    """`ray`: the address of the Ray cluster that does it; None: this process."""
    address = lake_address(address)
    lake = open_lake(address)
    if ray is None:
        index, is_new = compact(lake)
    else:
        with RayPool(ray) as pool:
            index, is_new = pool.compact(address)
    size = sum(table.size for table in index.made.tables.values())
    covered = len(index.made.covered)
    if as_json:
        document = {"index": index.folder, "new": is_new, "covered": covered, "bytes": size}
        print_json({**document, "unreadable": index.made.unreadable})
        return 0
    verb = "Indexed" if is_new else "Nothing was published since the last index, which covers"
    lines = [f"{verb} {counted(covered, 'repository')}, {amount(size)}."]
    lines += [f"Not indexed: {name}. {reason}" for name, reason in sorted(index.made.unreadable.items())]
    print_lines(lines)
    return 0


def run_prune(address: str, *, keep: int, hours: int, as_json: bool) -> int:
    pruned = prune(open_lake(lake_address(address)), keep=keep, age=timedelta(hours=hours))
    if as_json:
        print_json(pruned._asdict())
        return 0
    parts = [
        counted(pruned.publications, "publication"),
        counted(pruned.indexes, "index"),
        counted(pruned.abandoned, "interrupted publication"),
    ]
    print_lines([f"Deleted {', '.join(parts)}: {amount(pruned.bytes)}."])
    return 0


def _document(member: Member) -> dict[str, Any]:
    head = member.head
    return {
        "repository": member.name,
        "commit": member.key.commit,
        "version": head.version,
        "published": head.published,
        "golore": head.golore,
        "modules": head.modules,
        "missing": head.missing,
        "counts": head.counts,
        "store": head.store is not None,
        "indexed": member.number >= 0,
    }
