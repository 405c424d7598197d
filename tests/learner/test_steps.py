"""Steps run beside each other, each when what it needs is there."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest
from golore.graph.progress import NoProgress
from golore.learner.steps import Steps


class Shown(NoProgress):
    """Records which steps were shown as running."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def running(self, steps: tuple[str, ...]) -> None:
        self.seen.append(steps)


def test_a_step_begins_when_those_that_it_needs_have_ended() -> None:
    order: list[str] = []
    with Steps(NoProgress()) as steps:
        first = steps.start("first", lambda: order.append("first"))
        second = steps.start("second", lambda: order.append("second"), first)
        steps.start("third", lambda: order.append("third"), first, second).result()
    assert order == ["first", "second", "third"]


def test_steps_that_do_not_need_each_other_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=60)
    with Steps(NoProgress()) as steps:
        found = [steps.start(name, both.wait) for name in ("one", "other")]
        assert sorted(step.result() for step in found) == [0, 1]


def test_a_step_fails_with_what_it_needs_and_does_not_begin() -> None:
    begun: list[str] = []

    def fail() -> None:
        raise ValueError("no history")

    with Steps(NoProgress()) as steps:
        history = steps.start("history", fail)
        cards = steps.start("cards", lambda: begun.append("cards"), history)
        with pytest.raises(ValueError, match="no history"):
            cards.result()
    assert not begun


def test_progress_names_the_steps_that_run() -> None:
    shown, both = Shown(), threading.Barrier(2, timeout=60)
    with Steps(shown) as steps:
        needed = [steps.start(name, both.wait) for name in ("words", "cards")]
        steps.start("end", lambda: None, *needed).result()
    assert {frozenset(names) for names in shown.seen} >= {frozenset({"words", "cards"}), frozenset({"end"})}
    assert shown.seen[-1] == ()


def test_a_step_that_has_not_begun_is_dropped_when_the_steps_are_left() -> None:
    begun, is_left = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        is_left.wait(60)

    class Left(Steps):
        def __exit__(self, *_: object) -> None:
            self._is_left = True  # as it does, but the first step ends only now
            is_left.set()
            super().__exit__()

    with Left(NoProgress()) as steps:
        first = steps.start("first", wait)
        second = steps.start("second", lambda: None, first)
        begun.wait(60)
    with pytest.raises(CancelledError):
        second.result()
