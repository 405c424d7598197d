"""Which file events the watch collects."""

from __future__ import annotations

from pathlib import Path

from golore.mcp_server.watching.file_events import Burst, BurstCollector
from watchdog.events import FileModifiedEvent


def test_an_edited_document_is_a_change_to_learn_and_no_change_of_what_is_learned(tmp_path: Path):
    bursts = BurstCollector(tmp_path, tmp_path / ".golore")
    bursts.on_any_event(FileModifiedEvent(str(tmp_path / "docs/x.md")))
    bursts.on_any_event(FileModifiedEvent(str(tmp_path / "ui/page.html")))
    assert bursts.wait(0) == Burst(frozenset({"docs/x.md"}), is_only_files=True)
    bursts.on_any_event(FileModifiedEvent(str(tmp_path / "vendor/modules.txt")))
    assert bursts.wait(0) == Burst(frozenset({"vendor/modules.txt"}), is_only_files=False)
