"""The repositories of a lake as the tools of a team server see them: those that the caller may read, and no others.

What is published is listed at most every so many seconds, in the background. If the lake is lost, answers come from
what is installed. A repository that does not exist and one that the caller may not read get the same reply.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from golore.graph.errors import GoloreError, LakeError, UsageError
from golore.graph.lake.bucket import Lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.heads import head_keys
from golore.graph.lake.keys import HeadKey
from golore.graph.phrases import listed
from golore.mcp_server.server.open_repositories import OpenServedRepository
from golore.mcp_server.team.caller import current_caller
from golore.mcp_server.team.lake_notes import receive_notes
from golore.mcp_server.team.served_publication import ServedPublication
from golore.mcp_server.team.token_file import Grant

REFRESH_SECONDS: Final = 30.0
_LOOK_EVERY: Final = 1.0
_MOST_OPEN: Final = 64
"""Stores that stay open, those that were asked last; each may use 64 MB."""
_LEAST_OPEN: Final = 10.0
"""Seconds after a question for which a store stays open anyway: a query in another process may use it."""
_NAMED: Final = 10
_MOST_GRANTS: Final = 1_000
_logger: Final = logging.getLogger(__name__)


class LakeRepositories:
    """Use it as a context manager: it runs a thread that looks for new publications and notes, and calls `on_look` with
    the number of open stores now and then."""

    def __init__(
        self,
        lake: Lake,
        folder: Path,
        *,
        refresh: float = REFRESH_SECONDS,
        on_lake_error: Callable[[], None] = lambda: None,
        on_look: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.lake = lake
        self.failure = ""
        """Why the lake could not be listed the last time; empty if it could."""
        self._folder = folder
        self._refresh = refresh
        self._on_lake_error = on_lake_error
        self._on_look = on_look
        self._keys: dict[str, list[HeadKey]] | None = None
        self._permitted: dict[Grant, tuple[object, dict[str, list[HeadKey]]]] = {}
        self._listed_at = float("-inf")
        self._listing = threading.Lock()
        self._served: dict[str, ServedPublication] = {}
        self._change = threading.Lock()
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True, name="golore-team-keeper")

    def __enter__(self) -> LakeRepositories:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._keeper.join()
        for one in self._all_served():
            one.close()

    @property
    def is_ready(self) -> bool:
        """Whether it is known what is published."""
        return self._keys is not None

    @property
    def open_stores(self) -> int:
        return sum(one.is_open for one in self._all_served())

    @property
    def needs_name(self) -> bool:
        return len(self.publications()) != 1

    @property
    def can_learn(self) -> bool:
        return False

    def publications(self) -> dict[str, list[HeadKey]]:
        """The publications of the repositories that the caller may read, oldest first."""
        grant, everything = current_caller().grant, self._listed()
        known = self._permitted.get(grant)
        if known is None or known[0] is not everything:
            if len(self._permitted) >= _MOST_GRANTS:
                self._permitted.clear()
            permitted = {name: keys for name, keys in everything.items() if grant.permits(name)}
            known = self._permitted[grant] = (everything, permitted)
        return known[1]

    def fleet(self) -> Fleet:
        """The fleet of the repositories that the caller may read."""
        return Fleet(self.lake, current_caller().grant.permits)

    def root_containing(self, path: str) -> str:  # noqa: ARG002  nothing of the client's disk is known here
        return ""

    @contextmanager
    def opened(self, name: str = "") -> Generator[OpenServedRepository]:
        served, keys = self.find(name)
        if not served.is_used:
            self._renew(served, keys)
        with served.opened() as opened:
            yield opened

    def store_of(self, name: str) -> Path:
        """The store of a repository that is in use; a directory that does not exist if none is."""
        served = self._served.get(name)
        return (served.store if served is not None else None) or self._folder / "none"

    def find(self, name: str) -> tuple[ServedPublication, list[HeadKey]]:
        """The repository with this name, or whose name ends with it. Without a name: the only one."""
        permitted = self.publications()
        exact = name.strip("/")
        matches = [one for one in permitted if one == exact or one.endswith(f"/{exact}")] if exact else list(permitted)
        if exact in permitted:
            matches = [exact]
        if len(matches) != 1:
            raise UsageError(_advice(name, matches))
        with self._change:
            served = self._served.get(matches[0]) or ServedPublication(self._folder, self.lake, matches[0])
            self._served[matches[0]] = served
        return served, permitted[matches[0]]

    def _listed(self) -> dict[str, list[HeadKey]]:
        """What is published. Only the first question waits for the lake."""
        if self._keys is None:
            with self._listing:
                if self._keys is None:
                    self._keys = _by_repository(head_keys(self.lake))
                    self._listed_at = time.monotonic()
        return self._keys

    def _keep(self) -> None:
        while not self._over.wait(_LOOK_EVERY):
            if time.monotonic() - self._listed_at >= self._refresh:
                self.list_again()
            for one in self._all_served():
                one.close_if_idle()
            is_open = sorted((one for one in self._all_served() if one.is_open), key=lambda one: one.used_at)
            for one in is_open[: max(0, len(is_open) - _MOST_OPEN)]:
                one.let_go(_LEAST_OPEN)
            self._on_look(self.open_stores)

    def list_again(self) -> None:
        """Look for new publications, and install those of repositories that are in use."""
        self._listed_at = time.monotonic()
        try:
            self._keys = _by_repository(head_keys(self.lake))
            self.failure = ""
        except GoloreError as failure:
            self._report(failure)
            return
        for one in self._all_served():
            keys = self._keys.get(one.name)
            if keys and one.is_used and not self._over.is_set():
                try:
                    self._renew(one, keys)
                except (GoloreError, OSError) as failure:
                    self._report(failure)

    def _renew(self, served: ServedPublication, keys: Sequence[HeadKey]) -> None:
        """Install the newest publication of a repository, and exchange its notes."""
        is_new = served.renew(keys)
        try:
            receive_notes(served, self.lake, shows_all=is_new)
        except LakeError as failure:
            self._report(failure)

    def _report(self, failure: Exception) -> None:
        self._on_lake_error()
        self.failure = str(failure)
        # The text may name a repository, so only its kind is logged.
        _logger.warning("The lake cannot be used (%s); answers come from what is installed.", type(failure).__name__)

    def _all_served(self) -> list[ServedPublication]:
        with self._change:
            return list(self._served.values())


def _by_repository(keys: Sequence[HeadKey]) -> dict[str, list[HeadKey]]:
    found: dict[str, list[HeadKey]] = {}
    for key in keys:
        found.setdefault(key.repository, []).append(key)
    return dict(sorted(found.items()))


def _advice(name: str, matches: Sequence[str]) -> str:
    if not name:
        return (
            "Say which repository you ask about, as `repository`. memory_status lists those that you may read."
            if matches
            else "There is no repository that you may read. Ask whoever gave you the token."
        )
    if matches:
        return f"{name!r} may mean {listed(matches, _NAMED)}. Give one of these as `repository`."
    return f"There is no repository {name!r} that you may read. memory_status lists those that you may."
