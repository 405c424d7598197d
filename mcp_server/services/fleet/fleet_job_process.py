"""The process of one job of `golore fleet learn`: reads a `Job` from standard input and prints its `Outcome`.

    python -P -m golore.mcp_server.services.fleet.fleet_job_process DIRECTORY

Gets the repository into the new directory, learns it there and publishes it. A revision that this version of golore has
published before is neither fetched nor learned.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec
from golore.graph.errors import GoloreError, LakeError
from golore.graph.lake.bucket import Lake, open_lake
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.publishing import Revision, published_before
from golore.learner.checkout.git_clone import get_revision, remote_commit
from golore.learner.checkout.git_remote import name_of_url, remote_names
from golore.learner.learn import learn
from golore.learner.pipeline.version import learner_version
from golore.mcp_server.services.fleet.fleet_jobs import Job, Outcome, failed
from golore.mcp_server.services.fleet.fleet_list import is_path
from golore.mcp_server.services.fleet.publication import learned_revision, publish_revision
from golore.mcp_server.services.repository import LearnedRepository, store_of

_PARENT_DEATH: Final = 1


def main(directory: Path) -> None:
    _end_with_parent()
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    try:
        outcome = _publish(job, directory)
    except LakeError as failure:
        outcome = failed(job, str(failure), can_retry=True)
    except GoloreError as failure:
        # A server that cannot be reached now may be reached later; git does not say which it is.
        outcome = failed(job, str(failure), can_retry="cannot be" in str(failure) and not is_path(job.address))
    except OSError as failure:
        outcome = failed(job, f"{failure}.", can_retry=True)
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


def _publish(job: Job, directory: Path) -> Outcome:
    if job.edition != learner_version():
        return failed(job, "This machine has another version of golore. Install the same one everywhere.")
    lake = open_lake(job.lake)
    commit = remote_commit(job.address, job.revision)
    name = _name(job.address)
    known = published_before(lake, Revision(name, commit, "", (), {}, job.edition)) if name else None
    if known is not None:
        return _known(job, known)
    get_revision(job.address, commit, job.revision, directory, shallow=job.shallow)
    repository = LearnedRepository(directory, store_of(directory))
    learn(directory, repository.store, workers=job.cpus)
    return _upload(job, lake, repository, name)


def _upload(job: Job, lake: Lake, repository: LearnedRepository, name: str) -> Outcome:
    key, head = publish_revision(lake, learned_revision(repository, name), repository)
    if head is None:
        return _known(job, key)
    packed = sum(file.packed.size for file in head.store.files.values()) if head.store is not None else 0
    size = packed + sum(table.size for table in head.tables.values())
    return Outcome(job.address, job.revision, "published", key.repository, key.commit, size, len(head.missing))


def _known(job: Job, key: HeadKey) -> Outcome:
    return Outcome(job.address, job.revision, "known", key.repository, key.commit)


def _name(address: str) -> str:
    """The name of the repository in the lake; empty for a path whose repository has no remote: its module names it."""
    return next(iter(remote_names(Path(address))), "") if is_path(address) else name_of_url(address)


def _end_with_parent() -> None:
    """On Linux, end when the process that started this one ends, however that happens."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
