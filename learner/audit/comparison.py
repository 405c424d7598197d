"""How golore's edges compare with what the type checker says: precision, recall and the worst misses.

Only what the judge can tell is compared: files of this build configuration, sites it could resolve, types and
interfaces it looked at. What it cannot tell is counted apart as unjudged, neither for golore nor against it.
This module compares and renders; it runs nothing and reads no store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol

from golore.learner.audit.go_judge import JudgedCall, Truth

EXAMPLES: Final = 5
PATTERNS: Final = 15


class OurCall(NamedTuple):
    """A `CALLS` edge. Sites are lines in `file`; a callee outside the repository has no file and line."""

    caller: str
    file: str
    caller_line: int
    callee: str
    callee_file: str
    callee_line: int
    sites: tuple[int, ...]


class OurImplements(NamedTuple):
    """An `IMPLEMENTS` edge. An interface outside the repository has no file and line."""

    type_name: str
    type_file: str
    type_line: int
    interface: str
    interface_file: str
    interface_line: int
    pointer: bool


class OurUnresolved(NamedTuple):
    """A reference golore left open, with the reason it gives."""

    file: str
    name: str
    reason: str
    sites: tuple[int, ...]


class OurEdges(NamedTuple):
    """What golore says. `files` are those it learned; the judge's other files are counted, not compared."""

    files: frozenset[str]
    calls: tuple[OurCall, ...] = ()
    implements: tuple[OurImplements, ...] = ()
    unresolved: tuple[OurUnresolved, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    wrong: int
    missed: int
    unjudged: int

    @property
    def precision(self) -> float:
        """Of what golore says, the share that is so; 1 if it says nothing."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Of what is so, the share that golore says; 1 if there is nothing."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """Failures of one sort: how many, and a few of them as `file:line caller -> callee`."""

    about: str
    label: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditResult:
    """`calls` counts distinct pairs of caller and callee, `sites` their lines."""

    files: int
    files_with_errors: int
    files_not_learned: tuple[str, ...]
    calls: Score
    sites: Score
    implements: Score
    pointer_differs: int
    patterns: tuple[Pattern, ...]
    notes: tuple[str, ...]


Place = tuple[str, int]
"""File and line of a declaration; outside the repository, its qualified name and 0."""
_Pair = tuple[str, int, Place]


def compare(truth: Truth, edges: OurEdges) -> AuditResult:
    files = frozenset(file.path for file in truth.files)
    common = edges.files & frozenset(file.path for file in truth.files if not file.broken)
    failures = _Failures(_reasons(edges.unresolved))
    calls, sites = _compare_calls(truth, edges.calls, common, failures)
    implements, pointer_differs = _compare_implements(truth, edges.implements, common, failures)
    return AuditResult(
        files=len(common),
        files_with_errors=sum(1 for file in truth.files if file.errors and file.path in common),
        files_not_learned=tuple(sorted(files - edges.files)),
        calls=calls,
        sites=sites,
        implements=implements,
        pointer_differs=pointer_differs,
        patterns=failures.patterns(),
        notes=tuple(note.text for note in truth.notes) + tuple(f"{c.of}: {c.n}" for c in truth.counts),
    )


def location(name: str, file: str, line: int) -> Place:
    """Where a declaration is. Vendored code is outside, as it is for the judge."""
    if not file or file.startswith("vendor/") or "/vendor/" in file:
        return (name, 0)
    return (file, line)


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
        kept: list[Pattern] = []
        room = Counter({about: PATTERNS for about, _ in self.counts})
        for (about, label), count in worst:
            if room[about] > 0:
                room[about] -= 1
                kept.append(Pattern(about, label, count, tuple(sorted(self.examples[about, label])[:EXAMPLES])))
        return tuple(sorted(kept, key=lambda pattern: (pattern.about, -pattern.count, pattern.label)))


def _reasons(unresolved: Iterable[OurUnresolved]) -> dict[tuple[str, int, str], str]:
    return {(left.file, line, left.name): left.reason for left in unresolved for line in left.sites}


class _Verdicts(NamedTuple):
    """What the judge says about calls, for looking up."""

    pairs: dict[_Pair, JudgedCall]
    sites: dict[tuple[str, int, Place], JudgedCall]
    by_name: dict[tuple[str, int, str], str]
    """What is called by that simple name on that line."""
    unknown: frozenset[tuple[str, int, str]]
    names: frozenset[tuple[str, int, str]]
    """File and line of a caller with the qualified names it calls."""


def _verdicts(truth: Truth, common: frozenset[str]) -> _Verdicts:
    pairs: dict[_Pair, JudgedCall] = {}
    sites: dict[tuple[str, int, Place], JudgedCall] = {}
    by_name: dict[tuple[str, int, str], str] = {}
    for call in truth.calls:
        if call.file not in common:
            continue
        where = location(call.callee, call.callee_file, call.callee_line)
        pairs.setdefault((call.file, call.caller_line, where), call)
        sites.setdefault((call.file, call.line, where), call)
        by_name[call.file, call.line, simple(call.callee)] = call.callee
    # A method of a type without a name is a declaration golore may well know, under a name the judge does not give.
    unknown = frozenset((s.file, s.line, s.name) for s in (*truth.open_sites, *truth.nameless_sites))
    names = frozenset((call.file, call.caller_line, call.callee) for call in pairs.values())
    return _Verdicts(pairs, sites, by_name, unknown, names)


def simple(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def _compare_calls(
    truth: Truth, ours: Iterable[OurCall], common: frozenset[str], failures: _Failures
) -> tuple[Score, Score]:
    verdicts = _verdicts(truth, common)
    judged = frozenset(file.path for file in truth.files)
    pairs, sites = _Tally(), _Tally()
    for call in ours:
        where = _callee_place(call, verdicts)
        if call.file not in common or _is_twin(call, where, judged, verdicts):
            continue
        name = simple(call.callee)
        doubtful = False
        for line in call.sites:
            unknown = (call.file, line, name) in verdicts.unknown
            doubtful = doubtful or unknown
            sites.add((call.file, line, where), verdicts.sites, unknown)
        pair = (call.file, call.caller_line, where)
        if pairs.add(pair, verdicts.pairs, doubtful) == "wrong":
            _add_wrong_call(call, where, verdicts, failures)
    for pair in verdicts.pairs.keys() - pairs.right:
        _add_missed_call(verdicts.pairs[pair], failures)
    return pairs.score(len(verdicts.pairs)), sites.score(len(verdicts.sites))


def _callee_place(call: OurCall, verdicts: _Verdicts) -> Place:
    """Where the callee is. The judge may have read a published copy of a module whose source is in the repository."""
    where = location(call.callee, call.callee_file, call.callee_line)
    elsewhere = (call.callee, 0)
    if (call.file, call.caller_line, where) in verdicts.pairs:
        return where
    return elsewhere if (call.file, call.caller_line, elsewhere) in verdicts.pairs else where


class _Tally:
    """Distinct things golore says, by what the judge makes of them."""

    def __init__(self) -> None:
        self.right: set[_Pair] = set()
        self.wrong: set[_Pair] = set()
        self.unjudged: set[_Pair] = set()

    def add(self, said: _Pair, so: Container[_Pair], unknown: bool) -> Literal["right", "wrong", "unjudged"]:
        if said in so:
            self.right.add(said)
            return "right"
        if unknown:
            self.unjudged.add(said)
            return "unjudged"
        self.wrong.add(said)
        return "wrong"

    def score(self, there_are: int) -> Score:
        return Score(len(self.right), len(self.wrong), there_are - len(self.right), len(self.unjudged))


def _is_twin(call: OurCall, where: Place, judged: frozenset[str], verdicts: _Verdicts) -> bool:
    """Whether the callee belongs to another build configuration, and the judge knows its twin of this one."""
    if where[1] == 0 or where[0] in judged or (call.file, call.caller_line, where) in verdicts.pairs:
        return False
    return (call.file, call.caller_line, call.callee) in verdicts.names


def _add_wrong_call(call: OurCall, where: Place, verdicts: _Verdicts, failures: _Failures) -> None:
    wrong_lines = [line for line in call.sites if (call.file, line, where) not in verdicts.sites]
    line = (*wrong_lines, *call.sites, call.caller_line)[0]
    example = f"{call.file}:{line} {_arrow(call)}"
    failures.add("calls wrong", _why_wrong(call, line, verdicts), example)
    failures.add("callees wrong", call.callee, example)


def _why_wrong(call: OurCall, line: int, verdicts: _Verdicts) -> str:
    said = verdicts.by_name.get((call.file, line, simple(call.callee)))
    if said is None:
        return "no such call there"
    if said == call.callee:
        return "another declaration of that name, or another caller"
    return "another callee of that name"


def _arrow(call: OurCall | JudgedCall) -> str:
    return f"{call.caller} -> {call.callee}"


def _add_missed_call(call: JudgedCall, failures: _Failures) -> None:
    reason = failures.reasons.get((call.file, call.line, simple(call.callee)), "no reference there")
    where = "inside" if call.callee_file else "outside"
    label = f"{call.kind} call, callee {where}: {reason}"
    failures.add("calls missed", label, f"{call.file}:{call.line} {_arrow(call)}")
    failures.add("callees missed", call.callee, f"{call.file}:{call.line} {_arrow(call)}")


def _compare_implements(
    truth: Truth, ours: Iterable[OurImplements], common: frozenset[str], failures: _Failures
) -> tuple[Score, int]:
    interfaces = {location(i.name, i.file, i.line): i for i in truth.interfaces if not i.file or i.file in common}
    types = {location(t.name, t.file, t.line): t for t in truth.types if t.file in common}
    so: dict[tuple[Place, Place], bool] = {}
    for fact in truth.implements:
        pair = (location(fact.type_name, fact.type_file, fact.type_line), _interface_place(fact))
        if pair[0] in types and pair[1] in interfaces:
            so[pair] = fact.pointer
    said: set[tuple[Place, Place]] = set()
    wrong = unjudged = pointer_differs = 0
    for edge in ours:
        pair = (location(edge.type_name, edge.type_file, edge.type_line), _interface_place(edge))
        if pair[0] not in types or pair[1] not in interfaces:
            continue
        if pair in so:
            said.add(pair)
            pointer_differs += so[pair] != edge.pointer
        elif types[pair[0]].partial or interfaces[pair[1]].partial:
            unjudged += 1
        else:
            wrong += 1
            example = f"{edge.type_file}:{edge.type_line} {edge.type_name} -> {edge.interface}"
            failures.add("implements wrong", edge.interface, example)
    for pair in so.keys() - said:
        name, interface = types[pair[0]], interfaces[pair[1]].name
        failures.add("implements missed", interface, f"{name.file}:{name.line} {name.name} -> {interface}")
    return Score(len(said), wrong, len(so) - len(said), unjudged), pointer_differs


class _HasInterface(Protocol):
    @property
    def interface(self) -> str: ...
    @property
    def interface_file(self) -> str: ...
    @property
    def interface_line(self) -> int: ...


def _interface_place(edge: _HasInterface) -> Place:
    return location(edge.interface, edge.interface_file, edge.interface_line)


def as_json(result: AuditResult) -> dict[str, Any]:
    """The result as JSON holds it, with the ratios written out."""
    document = asdict(result)
    for name, score in _scores(result):
        document[name] |= {"precision": round(score.precision, 5), "recall": round(score.recall, 5)}
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
        lines.append(f"{len(result.files_not_learned)} files checked but not learned: {first}")
    if result.pointer_differs:
        lines.append(f"{result.pointer_differs} implements edges say pointer where value is right, or the reverse")
    about = ""
    for pattern in result.patterns:
        if pattern.about != about:
            about = pattern.about
            lines += ["", about]
        lines.append(f"{pattern.count:>8}  {pattern.label}")
        lines += [f"{'':>10}{example}" for example in pattern.examples]
    lines += [f"\nnote: {note}" if i == 0 else f"note: {note}" for i, note in enumerate(result.notes)]
    return "\n".join(lines) + "\n"


def _scores(result: AuditResult) -> tuple[tuple[str, Score], ...]:
    return (("calls", result.calls), ("sites", result.sites), ("implements", result.implements))
