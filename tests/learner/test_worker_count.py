"""As many workers as cores, unless the repository is small or the machine has little memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golore.graph.files.file_state import UNKNOWN
from golore.graph.model.entities import RepoPath
from golore.learner.checkout.discovery import Discovery, SourceFile, discover
from golore.learner.pipeline import graph_step
from golore.learner.pipeline.graph_step import worker_count


@pytest.mark.parametrize(
    ("megabytes", "gigabytes", "cores", "expected"),
    [(1, 16, 8, 0), (140, 16, 8, 8), (140, 16, 64, 14), (140, 4, 8, 3), (140, 1, 8, 1), (4, 1, 8, 8)],
)
def test_workers_fit_in_half_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int, gigabytes: int, cores: int, expected: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(graph_step, "physical_memory", lambda: gigabytes << 30)
    assert worker_count(of_size(tmp_path, megabytes << 20), None) == expected


def test_a_number_that_was_asked_for_is_used(tmp_path: Path) -> None:
    assert worker_count(of_size(tmp_path, 1), 3) == 3


def of_size(root: Path, size: int) -> Discovery:
    (root / "a.go").write_text("package a\n")
    return discover(root)._replace(files=(SourceFile(RepoPath("a.go"), UNKNOWN._replace(size=size)),))
