"""What is printed after a learn."""

from __future__ import annotations

import pytest
from golore.graph.queries.answers import StoreCounts
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.text import learn_text
from golore.mcp_server.text.learn_text import HOW_TO_COMPILE, summary_lines

COUNTS = StoreCounts(
    packages=1,
    files=2,
    lines=30,
    symbols={"func": 3},
    edges={"CALLS": 4},
    externals=0,
    unresolved=0,
    unresolved_sites=0,
    files_with_problems=0,
)


def report(seconds: float) -> Report:
    return Report(2, 2, 0, 1, 2, 4, 9, 1, 2, (), (), seconds, parts=(("Reading", 0.5), ("Storing", seconds - 1)))


@pytest.mark.parametrize(
    ("seconds", "is_compiled", "is_told"), [(12.0, False, True), (12.0, True, False), (3.0, False, False)]
)
def test_after_a_slow_learn_without_compiled_modules_it_is_said_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, seconds: float, is_compiled: bool, is_told: bool
) -> None:
    monkeypatch.setattr(learn_text, "compiled", lambda: is_compiled)
    assert any(HOW_TO_COMPILE in line for line in summary_lines(report(seconds), COUNTS)) == is_told


def test_the_whole_time_is_printed_with_its_parts() -> None:
    assert (
        "in 3.0 s: start 0.5 s, reading 0.5 s, storing 2.0 s (2 files parsed" in summary_lines(report(3.0), COUNTS)[0]
    )
