"""Questions about symbols by their names, for the command line, the server and the Python API: each resolves the names
and asks the graph. The layers above only decide how the answers are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.queries import impact, questions
from golore.graph.queries.answers import Answer, Impact, Meaning, Route, SymbolAnswer
from golore.graph.queries.symbol_steps import Steps
from golore.mcp_server.services.open_store import OpenRepository
from golore.mcp_server.services.targets import only_meaning, require_field

Name = str | Meaning
"""What a question is about: a name to resolve, or a symbol that an earlier answer has."""
FIELD_QUESTIONS: Final = {"reads": "read", "writes": "write"}
_IMPLEMENTING: Final = questions.TYPES | {"imethod"}
_QUESTIONS: Final[dict[str, tuple[Callable[[Store, Meaning], Answer], frozenset[str]]]] = {
    "callers": (questions.callers, questions.CALLABLE),
    "callees": (questions.callees, questions.CALLING),
    "implementers": (questions.implementers, questions.TYPES),
    "users": (questions.users, frozenset()),
    "tests": (questions.tests, frozenset()),
}


def ask(opened: OpenRepository, question: str, name: Name) -> Answer:
    """The answer to `callers`, `callees`, `implementers`, `users`, `reads`, `writes` or `tests`. Raises `UnclearName`
    if the name has no or several meanings, `UsageError` if the question does not fit what it names."""
    if question in FIELD_QUESTIONS:
        field = require_field(meaning_of(opened, name, frozenset(("field",))))
        return questions.users(opened.store, field, FIELD_QUESTIONS[question])
    answer_to, kinds = _QUESTIONS[question]
    subject = meaning_of(opened, name, kinds)
    first = subject.first
    if question == "implementers" and not (subject.is_group or first.external or first.kind in _IMPLEMENTING):
        raise UsageError(f"{subject.name} is a {first.kind}. Ask for the implementers of a type or interface.")
    return answer_to(opened.store, subject)


def ask_impact(
    opened: OpenRepository,
    name: Name,
    *,
    depth: int = impact.DEPTH,
    most: int = impact.MOST_REACHED,
    steps: Steps | None = None,
) -> Impact:
    """What a change of a symbol may reach within `depth` steps."""
    return impact.impact(opened.store, meaning_of(opened, name), depth, most, steps)


def ask_path(
    opened: OpenRepository, source: Name, target: Name, *, most: int = impact.MOST_STEPS, steps: Steps | None = None
) -> Route:
    """A chain of calls from one function to another."""
    first = meaning_of(opened, source, questions.CALLING)
    last = meaning_of(opened, target, questions.CALLABLE)
    return impact.path(opened.store, first, last, most, steps)


def ask_details(opened: OpenRepository, name: Name) -> SymbolAnswer:
    """The declarations of a name, with everything that is known about them."""
    return questions.show(opened.store, meaning_of(opened, name))


def meaning_of(opened: OpenRepository, name: Name, kinds: frozenset[str] = frozenset()) -> Meaning:
    """The symbol that a question is about; of several, one of these kinds."""
    return only_meaning(opened, name, kinds) if isinstance(name, str) else name
