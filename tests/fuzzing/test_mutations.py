"""Some hundred mutations of everything that golore reads: no failure but those that golore raises deliberately.

`run` runs a million of them, guided by coverage.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from fuzzing.mutator import mutations
from fuzzing.run import RUNS
from fuzzing.target import Target

COUNTS = {"go_packages": 30, "hook_payloads": 100, "imports": 12, "stores": 8, "team_events": 60}
USUAL = 300


@pytest.mark.parametrize("name", sorted(RUNS))
def test_no_mutation_fails(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    target: Target = importlib.import_module(f"fuzzing.{name}").prepare(tmp_path)
    for data in (*target.seeds[:5], *mutations(target.seeds, COUNTS.get(name, USUAL), number=1)):
        target.run(data)
