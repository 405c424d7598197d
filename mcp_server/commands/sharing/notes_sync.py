"""`golore notes sync`: exchanges notes, ratings and reviewed summaries with a team, and puts what came on the cards."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from golore.graph.knowledge.event_directory import EventDirectory
from golore.graph.phrases import counted
from golore.learner.learn import learn
from golore.mcp_server.services.knowledge.team_notes import EventPlace, Exchange, sync_events
from golore.mcp_server.services.repository import LearnedRepository, find_repository
from golore.mcp_server.text.output import print_json, print_lines, print_message

_COMMIT: Final = "Commit the files in .golore-notes/ to share them."


def run_notes_sync(start: Path, *, lake: str | None, name: str, as_json: bool) -> int:
    """`lake`: None for files of the repository, empty for the lake of the user's settings."""
    repository = find_repository(start)
    place = EventDirectory(repository.root) if lake is None else _lake_events(repository, lake, name)
    exchange = sync_events(repository.store, place)
    if exchange.received:
        learn(repository.root, repository.store)  # finds the code that the notes are about
    if as_json:
        print_json({"place": place.name, **exchange._asdict()})
    else:
        print_lines(_lines(exchange, place))
    for message in exchange.messages:
        print_message(f"golore: {message}")
    return 0


def _lake_events(repository: LearnedRepository, address: str, name: str) -> EventPlace:
    from golore.graph.lake.bucket import open_lake
    from golore.graph.lake.lake_events import LakeEvents
    from golore.mcp_server.services.published_names import published_names
    from golore.mcp_server.services.settings import lake_address

    return LakeEvents(open_lake(lake_address(address)), published_names(repository.root, name)[0])


def _lines(exchange: Exchange, place: EventPlace) -> list[str]:
    received, sent = sum(exchange.received.values()), sum(exchange.sent.values())
    if not received and not sent and not exchange.removed:
        return [f"Nothing new here or in {place.name}."]
    lines = [f"Received {_counts(exchange.received)} from {place.name}, sent {_counts(exchange.sent)}."]
    if exchange.removed:
        lines.append(f"Removed {counted(exchange.removed, 'event')} of forgotten notes.")
    if (sent or exchange.removed) and isinstance(place, EventDirectory):
        lines.append(_COMMIT)
    return lines


def _counts(numbers: dict[str, int]) -> str:
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(numbers.items()))
    return f"{counted(sum(numbers.values()), 'event')}{f' ({kinds})' if kinds else ''}"
