"""`golore fleet learn`: learns and publishes many repositories, on this machine or on a Ray cluster.

What is published already is skipped, so a run that was interrupted can be repeated. A repository that fails does not
stop the others.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.lake.bucket import Lake, open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.lake_index import compact
from golore.graph.phrases import amount, counted
from golore.learner.checkout.git_remote import name_of_url, remote_names
from golore.learner.pipeline.version import learner_version
from golore.mcp_server.services.fleet.fleet_jobs import GIGABYTE, Job, Outcome
from golore.mcp_server.services.fleet.fleet_list import Source, is_path, read_list
from golore.mcp_server.services.fleet.fleet_pools import LocalPool, run_jobs
from golore.mcp_server.services.fleet.ray_pool import RayPool
from golore.mcp_server.services.settings import lake_address
from golore.mcp_server.text.output import print_json, print_lines, print_message

_BASE: Final = 400 << 20
_BYTES_PER_USE: Final = 1_000
"""Kubernetes has 1.2 million uses, and its learn takes 1.4 GB; prometheus 0.1 million and 0.4 GB."""
_LARGE: Final = 300_000
"""Uses above which a job asks for two processors."""


def run_fleet_learn(path: Path, address: str, *, ray: str | None, shallow: bool, as_json: bool) -> int:
    """`ray`: the address of a cluster; None: use this machine. Exit code 1 if a repository failed."""
    address = lake_address(address)
    lake = open_lake(address)
    sources = read_list(path)
    jobs = _jobs(sources, lake, _absolute(address), shallow=shallow)
    with RayPool(ray) if ray is not None else nullcontext(LocalPool()) as pool:
        outcomes = run_jobs(jobs, pool, _Progress(len(jobs)))
        index, _ = pool.compact(_absolute(address)) if isinstance(pool, RayPool) else compact(lake)
    by_status = {name: [one for one in outcomes if one.status == name] for name in ("published", "known", "failed")}
    failures = by_status["failed"]
    if as_json:
        documents = [msgspec.structs.asdict(one) for one in outcomes]
        print_json({"repositories": documents, "indexed": len(index.made.covered)})
        return 1 if failures else 0
    lines = [
        f"Published {counted(len(by_status['published']), 'repository')}; {len(by_status['known']):,} were published "
        f"before; {len(failures):,} failed. The index covers {len(index.made.covered):,}."
    ]
    print_lines([*lines, *(f"Failed: {one.address}. {one.reason}" for one in failures)])
    return 1 if failures else 0


class _Progress:
    """Prints one line on standard error for each finished job."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, outcome: Outcome) -> None:
        self._done += 1
        commit = f" at {outcome.commit[:12]}" if outcome.commit else ""
        name = outcome.repository or outcome.address
        said = {
            "published": f"published, {amount(outcome.bytes)}",
            "known": "published before",
            "failed": f"failed: {outcome.reason}",
        }[outcome.status]
        print_message(f"[{self._done:,}/{self._total:,}] {name}{commit}: {said} ({outcome.seconds:.0f} s)")


def _jobs(sources: list[Source], lake: Lake, address: str, *, shallow: bool) -> list[Job]:
    """A job for each source, which asks for memory by the size that the repository had when it was last published."""
    with Fleet(lake) as fleet:
        uses = {
            one.name: sum(one.head.counts.get(name, 0) for name in ("own", "across", "std")) for one in fleet.members
        }
    jobs: list[Job] = []
    for source in sources:
        known = max((uses[name] for name in _names(source.address) if name in uses), default=None)
        memory = GIGABYTE if known is None else _BASE + known * _BYTES_PER_USE
        cpus = 2 if known is not None and known > _LARGE else 1
        jobs.append(Job(source.address, source.revision, address, learner_version(), shallow, cpus, memory))
    return jobs


def _names(address: str) -> tuple[str, ...]:
    if not is_path(address):
        return (name_of_url(address),)
    return remote_names(Path(address)) if Path(address).is_dir() else ()


def _absolute(address: str) -> str:
    """The address of the lake as it is valid in another working directory."""
    return (
        str(Path(address).expanduser().resolve()) if is_path(address) and not address.startswith("file:") else address
    )
