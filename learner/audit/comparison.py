"""Compares golore's edges with those of Go's type checker, the judge: precision, recall and the worst misses.

Only what the judge knows is compared: files of this build configuration, calls that it could resolve, types and
interfaces that it checked. The rest is counted as unjudged, neither for golore nor against it. This module compares and
renders; it does not run the judge or read the store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Protocol

from golore.learner.audit.go_judge import JudgedCall, Truth
from golore.learner.audit.scores import DeclarationLocation, Score, Tally, location, simple_name
from golore.learner.audit.use_comparison import OurUse, compare_uses

EXAMPLES: Final = 5
PATTERNS: Final = 15


class OurCall(NamedTuple):
    """A `CALLS` edge. Sites are lines in `file`; an external callee has no file and line."""

    caller: str
    file: str
    caller_line: int
    callee: str
    callee_file: str
    callee_line: int
    sites: tuple[int, ...]


class OurImplements(NamedTuple):
    """An `IMPLEMENTS` edge. An external interface has no file and line."""

    type_name: str
    type_file: str
    type_line: int
    interface: str
    interface_file: str
    interface_line: int
    pointer: bool


class OurUnresolved(NamedTuple):
    """An unresolved use, with its reason."""

    file: str
    name: str
    reason: str
    sites: tuple[int, ...]


class OurEdges(NamedTuple):
    """golore's edges. `files` are the learned files; other files that the judge checked are listed but not compared."""

    files: frozenset[str]
    calls: tuple[OurCall, ...] = ()
    implements: tuple[OurImplements, ...] = ()
    unresolved: tuple[OurUnresolved, ...] = ()
    uses: tuple[OurUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """Failures of one kind: their number, and a few examples as `file:line caller -> callee`."""

    about: str
    label: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditResult:
    """`calls` counts distinct pairs of caller and callee, `sites` distinct pairs of line and callee.

    `uses` are the other uses by functions, by kind of target; `field_uses` those of fields, by access.
    """

    files: int
    files_with_errors: int
    files_not_learned: tuple[str, ...]
    calls: Score
    sites: Score
    implements: Score
    uses: dict[str, Score]
    field_uses: dict[str, Score]
    pointer_differs: int
    patterns: tuple[Pattern, ...]
    notes: tuple[str, ...]


_Pair = tuple[str, int, DeclarationLocation]


def compare(truth: Truth, edges: OurEdges) -> AuditResult:
    files = frozenset(file.path for file in truth.files)
    common = edges.files & frozenset(file.path for file in truth.files if not file.broken)
    failures = _Failures(_reasons(edges.unresolved))
    calls, sites = _compare_calls(truth, edges.calls, common, failures)
    uses = compare_uses(truth, edges.uses, common, failures.add)
    implements, pointer_differs = _compare_implements(truth, edges.implements, common, failures)
    return AuditResult(
        files=len(common),
        files_with_errors=sum(1 for file in truth.files if file.errors and file.path in common),
        files_not_learned=tuple(sorted(files - edges.files)),
        calls=calls,
        sites=sites,
        implements=implements,
        uses=uses.by_kind,
        field_uses=uses.by_access,
        pointer_differs=pointer_differs,
        patterns=failures.patterns(),
        notes=tuple(note.text for note in truth.notes) + tuple(f"{c.of}: {c.n}" for c in truth.counts),
    )


class _Failures:
    """Collects misses and errors by pattern."""

    def __init__(self, reasons: dict[tuple[str, int, str], str]) -> None:
        self.reasons = reasons
        self.counts: Counter[tuple[str, str]] = Counter()
        self.examples: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, about: str, label: str, example: str) -> None:
        self.counts[about, label] += 1
        examples = self.examples[about, label]
        examples.append(example)
        if len(examples) > 64 * EXAMPLES:
            examples[:] = sorted(examples)[:EXAMPLES]

    def patterns(self) -> tuple[Pattern, ...]:
        worst = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        patterns: list[Pattern] = []
        remaining = Counter({about: PATTERNS for about, _ in self.counts})
        for (about, label), count in worst:
            if remaining[about] > 0:
                remaining[about] -= 1
                patterns.append(Pattern(about, label, count, tuple(sorted(self.examples[about, label])[:EXAMPLES])))
        return tuple(sorted(patterns, key=lambda pattern: (pattern.about, -pattern.count, pattern.label)))


def _reasons(unresolved: Iterable[OurUnresolved]) -> dict[tuple[str, int, str], str]:
    return {(use.file, line, use.name): use.reason for use in unresolved for line in use.sites}


class _Verdicts(NamedTuple):
    """The calls that the judge found, by several keys."""

    pairs: dict[_Pair, JudgedCall]
    sites: dict[tuple[str, int, DeclarationLocation], JudgedCall]
    by_name: dict[tuple[str, int, str], str]
    """The qualified callee by file, line and simple name of a call."""
    unknown: frozenset[tuple[str, int, str]]
    names: frozenset[tuple[str, int, str]]
    """File and line of a caller, and the qualified name of a callee."""


def _verdicts(truth: Truth, common: frozenset[str]) -> _Verdicts:
    pairs: dict[_Pair, JudgedCall] = {}
    sites: dict[tuple[str, int, DeclarationLocation], JudgedCall] = {}
    by_name: dict[tuple[str, int, str], str] = {}
    for call in truth.calls:
        if call.file not in common:
            continue
        callee_location = location(call.callee, call.callee_file, call.callee_line)
        pairs.setdefault((call.file, call.caller_line, callee_location), call)
        sites.setdefault((call.file, call.line, callee_location), call)
        by_name[call.file, call.line, simple_name(call.callee)] = call.callee
    # golore may know a method of an unnamed type under a name that the judge does not have.
    unknown = frozenset((s.file, s.line, s.name) for s in (*truth.open_sites, *truth.nameless_sites))
    names = frozenset((call.file, call.caller_line, call.callee) for call in pairs.values())
    return _Verdicts(pairs, sites, by_name, unknown, names)


def _compare_calls(
    truth: Truth, ours: Iterable[OurCall], common: frozenset[str], failures: _Failures
) -> tuple[Score, Score]:
    verdicts = _verdicts(truth, common)
    judged = frozenset(file.path for file in truth.files)
    pairs, sites = Tally[_Pair](), Tally[_Pair]()
    for call in ours:
        callee_location = _callee_location(call, verdicts)
        if call.file not in common or _is_twin(call, callee_location, judged, verdicts):
            continue
        name = simple_name(call.callee)
        doubtful = False
        for line in call.sites:
            unknown = (call.file, line, name) in verdicts.unknown
            doubtful = doubtful or unknown
            sites.add((call.file, line, callee_location), verdicts.sites, unknown)
        pair = (call.file, call.caller_line, callee_location)
        if pairs.add(pair, verdicts.pairs, doubtful) == "wrong":
            _add_wrong_call(call, callee_location, verdicts, failures)
    for pair in verdicts.pairs.keys() - pairs.right:
        _add_missed_call(verdicts.pairs[pair], failures)
    return pairs.score(len(verdicts.pairs)), sites.score(len(verdicts.sites))


def _callee_location(call: OurCall, verdicts: _Verdicts) -> DeclarationLocation:
    """The location of the callee; by name only if the judge used a published copy of a module of the repository."""
    own = location(call.callee, call.callee_file, call.callee_line)
    published = (call.callee, 0)
    if (call.file, call.caller_line, own) in verdicts.pairs:
        return own
    return published if (call.file, call.caller_line, published) in verdicts.pairs else own


def _is_twin(call: OurCall, callee: DeclarationLocation, judged: frozenset[str], verdicts: _Verdicts) -> bool:
    """Whether the callee is a twin for another build configuration of a callee that the judge found."""
    if callee[1] == 0 or callee[0] in judged or (call.file, call.caller_line, callee) in verdicts.pairs:
        return False
    return (call.file, call.caller_line, call.callee) in verdicts.names


def _add_wrong_call(call: OurCall, callee: DeclarationLocation, verdicts: _Verdicts, failures: _Failures) -> None:
    wrong_lines = [line for line in call.sites if (call.file, line, callee) not in verdicts.sites]
    line = (*wrong_lines, *call.sites, call.caller_line)[0]
    example = f"{call.file}:{line} {_arrow(call)}"
    failures.add("calls wrong", _why_wrong(call, line, verdicts), example)
    failures.add("callees wrong", call.callee, example)


def _why_wrong(call: OurCall, line: int, verdicts: _Verdicts) -> str:
    judged_callee = verdicts.by_name.get((call.file, line, simple_name(call.callee)))
    if judged_callee is None:
        return "no call of that name on that line"
    if judged_callee == call.callee:
        return "different declaration of the same name, or different caller"
    return "different callee with the same name"


def _arrow(call: OurCall | JudgedCall) -> str:
    return f"{call.caller} -> {call.callee}"


def _add_missed_call(call: JudgedCall, failures: _Failures) -> None:
    reason = failures.reasons.get((call.file, call.line, simple_name(call.callee)), "not recorded as unresolved")
    side = "inside" if call.callee_file else "outside"
    label = f"{call.kind} call, callee {side}: {reason}"
    failures.add("calls missed", label, f"{call.file}:{call.line} {_arrow(call)}")
    failures.add("callees missed", call.callee, f"{call.file}:{call.line} {_arrow(call)}")


def _compare_implements(
    truth: Truth, ours: Iterable[OurImplements], common: frozenset[str], failures: _Failures
) -> tuple[Score, int]:
    interfaces = {location(i.name, i.file, i.line): i for i in truth.interfaces if not i.file or i.file in common}
    types = {location(t.name, t.file, t.line): t for t in truth.types if t.file in common}
    true_pairs: dict[tuple[DeclarationLocation, DeclarationLocation], bool] = {}
    for fact in truth.implements:
        pair = (location(fact.type_name, fact.type_file, fact.type_line), _interface_location(fact))
        if pair[0] in types and pair[1] in interfaces:
            true_pairs[pair] = fact.pointer
    right: set[tuple[DeclarationLocation, DeclarationLocation]] = set()
    wrong = unjudged = pointer_differs = 0
    for edge in ours:
        pair = (location(edge.type_name, edge.type_file, edge.type_line), _interface_location(edge))
        if pair[0] not in types or pair[1] not in interfaces:
            continue
        if pair in true_pairs:
            right.add(pair)
            pointer_differs += true_pairs[pair] != edge.pointer
        elif types[pair[0]].partial or interfaces[pair[1]].partial:
            unjudged += 1
        else:
            wrong += 1
            example = f"{edge.type_file}:{edge.type_line} {edge.type_name} -> {edge.interface}"
            failures.add("implements wrong", edge.interface, example)
    for pair in true_pairs.keys() - right:
        judged_type, interface = types[pair[0]], interfaces[pair[1]].name
        example = f"{judged_type.file}:{judged_type.line} {judged_type.name} -> {interface}"
        failures.add("implements missed", interface, example)
    return Score(len(right), wrong, len(true_pairs) - len(right), unjudged), pointer_differs


class _HasInterface(Protocol):
    @property
    def interface(self) -> str: ...
    @property
    def interface_file(self) -> str: ...
    @property
    def interface_line(self) -> int: ...


def _interface_location(edge: _HasInterface) -> DeclarationLocation:
    return location(edge.interface, edge.interface_file, edge.interface_line)


def as_json(result: AuditResult) -> dict[str, Any]:
    """The result as a JSON document, including precision and recall."""
    document = asdict(result)
    for score, values in (
        (result.calls, document["calls"]),
        (result.sites, document["sites"]),
        (result.implements, document["implements"]),
        *((score, document["uses"][kind]) for kind, score in result.uses.items()),
        *((score, document["field_uses"][access]) for access, score in result.field_uses.items()),
    ):
        values |= {"precision": round(score.precision, 5), "recall": round(score.recall, 5)}
    return document


def render_table(result: AuditResult) -> str:
    lines = [f"{'':<12}{'precision':>10}{'recall':>10}{'right':>10}{'wrong':>8}{'missed':>8}{'unjudged':>10}"]
    for name, score in _scores(result):
        lines.append(
            f"{name:<12}{score.precision:>10.4f}{score.recall:>10.4f}{score.right:>10}{score.wrong:>8}"
            f"{score.missed:>8}{score.unjudged:>10}"
        )
    lines += ["", f"{result.files} files compared, {result.files_with_errors} of them with type errors"]
    if result.files_not_learned:
        first = ", ".join(result.files_not_learned[:EXAMPLES])
        lines.append(f"{len(result.files_not_learned)} files type-checked but not learned: {first}")
    if result.pointer_differs:
        lines.append(f"{result.pointer_differs} implements edges have pointer where value is right, or the reverse")
    about = ""
    for pattern in result.patterns:
        if pattern.about != about:
            about = pattern.about
            lines += ["", about]
        lines.append(f"{pattern.count:>8}  {pattern.label}")
        lines += [f"{'':>10}{example}" for example in pattern.examples]
    lines += [f"\njudge: {text}" if i == 0 else f"judge: {text}" for i, text in enumerate(result.notes)]
    return "\n".join(lines) + "\n"


def _scores(result: AuditResult) -> tuple[tuple[str, Score], ...]:
    return (
        ("calls", result.calls),
        ("sites", result.sites),
        ("implements", result.implements),
        *result.uses.items(),
        *((f"  {access}", score) for access, score in result.field_uses.items()),
    )
