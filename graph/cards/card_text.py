"""The text of a card: facts about a file that the file itself does not tell, most useful first, in few words.

States facts and nothing else. What is only possible, through an interface, is called a candidate; what could not be
settled is said to be so. Each section holds the lines that fit and says how many were left out. Where the facts come
from is `gathering`'s affair, and which cards are made when, `dealing`'s.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final, NamedTuple

from golore.graph.cards.annotations import NOTHING, Annotations
from golore.graph.history.co_change import Coupled, directory_of
from golore.graph.history.co_change_edges import OFTEN, SHARE
from golore.graph.phrases import counted, listed
from golore.graph.queries.file_facts import CardSymbol, FileFacts, UnresolvedName, Use

LONGEST: Final = 2_000
"""Characters of a card."""
_SYMBOLS: Final = 8
_PLACES: Final = 3
_NAMES: Final = 4
_FEW: Final = 5
_OWN_SHARE: Final = 3
"""What a file's own bodies hold takes no more of a card than one part in so many."""
_COMMON: Final = 30
"""Unresolved uses beyond which a name is so common, like `String`, that they say nothing of one of its methods."""

Ranks = Mapping[str, float]


class CardSection(NamedTuple):
    """A line by itself, or one with lines below. `rest` is how many more lines there would be, beyond those given."""

    title: str
    lines: tuple[str, ...] = ()
    rest: int = 0


class Users:
    """The uses of a file's declarations, by declaration, and what is said of them; for card and symbols alike."""

    def __init__(self, facts: FileFacts, ranks: Ranks) -> None:
        self.by_symbol: defaultdict[CardSymbol, list[Use]] = defaultdict(list)
        for use in facts.uses:
            self.by_symbol[use.target].append(use)
        self._ranks = ranks
        self._texts: dict[CardSymbol, str] = {}

    def text(self, symbol: CardSymbol) -> str:
        if symbol not in self._texts:
            self._texts[symbol] = _users(self.by_symbol[symbol], self._ranks)
        return self._texts[symbol]


def file_texts(
    facts: FileFacts, coupled: Coupled | None, users: Users, longest: int = LONGEST, lore: Annotations = NOTHING
) -> tuple[str, str]:
    """The card of a file, in two parts: what others have to do with it, and what its own bodies hold. Both are empty
    where there is nothing to say."""
    sections = [
        *_pinned(lore),
        *_used(facts, users),
        *_interfaces(facts),
        *_reached(facts),
        *_tested(facts),
        *_changes(coupled),
        *_told_elsewhere(lore),
    ]
    # What comes now is told only beside something that is known: alone it is no reason to speak.
    if sections:
        sections += [*_last_change(lore), *_doubted(facts)]
    exercised = [(target.file, target.local) for _, target in facts.exercised]
    held = own_text(exercised, () if facts.test else facts.unresolved, longest, is_alone=not sections)
    return fit_sections(sections, longest - len(held) - 1), held


def own_text(
    exercised: Iterable[tuple[str, str]],
    unresolved: Sequence[UnresolvedName],
    longest: int = LONGEST,
    *,
    is_alone: bool,
) -> str:
    """The second part: what tests in the file call in others, by file and name, and what could not be settled in it."""
    own = [*_exercises(exercised)]
    if own or not is_alone:
        own += _unsettled(unresolved)
    return fit_sections(own, longest if is_alone else longest // _OWN_SHARE)


def with_annotations(text: str, lore: Annotations, longest: int = LONGEST) -> str:
    """The card of a package or the repository, told without lore so far, with it."""
    if lore == NOTHING:
        return text
    before = fit_sections([*_pinned(lore)], longest)
    after = fit_sections([*_told_elsewhere(lore)], max(0, longest - len(before)))
    room = longest - len(before) - len(after) - 2
    lines = text.splitlines()
    kept = list(lines)
    while kept and len("\n".join(kept)) + (len(_left_out(lines, kept)) + 1) * (len(kept) < len(lines)) > room:
        kept.pop()
    told = [*kept, _left_out(lines, kept)] if len(kept) < len(lines) else kept
    return "\n".join(filter(None, (before, *told, after)))


def _left_out(lines: Sequence[str], kept: Sequence[str]) -> str:
    return f"{counted(len(lines) - len(kept), 'more line')} left out"


def symbol_texts(facts: FileFacts, wanted: Iterable[CardSymbol], users: Users) -> Iterable[tuple[CardSymbol, str]]:
    """A line or two about each of some declarations of a file."""
    tests: defaultdict[CardSymbol, set[str]] = defaultdict(set)
    interfaces: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for test, target in facts.tests:
        tests[target].add(test.name)
    for kind, interface in facts.satisfies:
        interfaces[kind].append(interface)
    types = Counter(interface for interface, _ in facts.satisfied)
    for symbol in wanted:
        is_used = symbol in users.by_symbol
        if not symbol.exported and not is_used:
            continue
        parts = [f"{symbol.kind} {symbol.short} ({symbol.file}:{symbol.line})"]
        parts.append(users.text(symbol) if is_used else "no use in other files is known")
        if symbol in tests:
            parts.append(f"tested by {listed(sorted(tests[symbol]), _PLACES)}")
        if symbol in interfaces:
            parts.append(f"satisfies {listed(_interface_names(interfaces[symbol]), _PLACES)}")
        if types[symbol]:
            parts.append(f"satisfied by {counted(types[symbol], 'type')} in other files")
        yield symbol, "; ".join(parts)


def fit_sections(sections: Sequence[CardSection], longest: int) -> str:
    """The sections as text. Too long, it loses lines below titles, the last of the longest section first; then whole
    sections, from the end."""
    kept = [list(section.lines) for section in sections]
    dropped = 0
    while True:
        lines = [line for section, some in zip(sections, kept, strict=False) for line in _rendered(section, some)]
        if dropped:
            lines.append(f"{counted(dropped, 'more section')} left out")
        text = "\n".join(lines)
        if len(text) <= longest or not kept:
            return text[:longest]
        widest = max(range(len(kept)), key=lambda at: (len(kept[at]), -at))
        if len(kept[widest]) > 1:
            kept[widest].pop()
        else:
            kept.pop()
            dropped += 1


def _rendered(section: CardSection, lines: Sequence[str]) -> Iterable[str]:
    if section.title:
        yield section.title
    yield from (f"- {line}" for line in lines)
    rest = section.rest + len(section.lines) - len(lines)
    if rest:
        yield f"- {rest:,} more left out"


def _pinned(lore: Annotations) -> Iterable[CardSection]:
    if lore.role:
        yield CardSection(lore.role)
    if lore.notes:
        yield CardSection("Notes:", lore.notes, lore.more_notes)


def _told_elsewhere(lore: Annotations) -> Iterable[CardSection]:
    if lore.documents:
        yield CardSection("Documents:", lore.documents)


def _last_change(lore: Annotations) -> Iterable[CardSection]:
    if lore.recent:
        yield CardSection(lore.recent)


def _used(facts: FileFacts, users: Users) -> Iterable[CardSection]:
    """Who uses what the file declares, by symbol. Where tests alone do, the section about tests says enough."""
    files = {use.source.file for use in facts.uses}
    tests = sum(1 for file in files if file.endswith("_test.go"))
    if facts.uses and tests == len(files) and not facts.test:
        yield CardSection("No use outside of tests is known.")
        if facts.tests:
            return
    elif facts.uses:
        places = {directory_of(file) for file in files if not file.endswith("_test.go")}
        where = f"Used from {counted(len(files), 'other file')}"
        where += f" ({counted(tests, 'test')} among them)" if tests and not facts.test else ""
        is_own = not places or places == {directory_of(facts.path)}
        where += ", all of its own package" if is_own else f" in {counted(len(places), 'package')}"
        yield CardSection(f"{where}:")
    ordered = sorted(users.by_symbol.items(), key=lambda item: (-_worth(item[0], item[1]), item[0].line, item[0].name))
    told = [item for item in ordered if not all(use.source.file.endswith("_test.go") for use in item[1])] or ordered
    most = 1 if facts.generated else _SYMBOLS
    lines = tuple(f"{symbol.local}: {users.text(symbol)}" for symbol, _ in told[:most])
    if lines:
        yield CardSection("", lines, len(ordered) - len(lines))


def _worth(symbol: CardSymbol, uses: Sequence[Use]) -> float:
    """How much the users of a symbol matter: files count, tests little, and a field less than what has behaviour."""
    files = {use.source.file for use in uses}
    tests = sum(1 for file in files if file.endswith("_test.go"))
    # Counted first: a sum of such numbers depends on their order, and a set has none.
    value = 0.3 * tests + (len(files) - tests) + len(uses) / 100
    return value * (0.4 if symbol.kind in ("field", "const") else 1.0)


def _users(uses: Sequence[Use], ranks: Ranks) -> str:
    sources: dict[CardSymbol, Use] = {}
    for use in uses:
        # One may use a type in several ways; the first line that is known tells most.
        known = sources.get(use.source)
        if known is None or (not use.sites, use.line) < (not known.sites, known.line):
            sources[use.source] = use
    noun = "caller" if all(use.label == "CALLS" for use in uses) else "user"
    by_file: dict[str, list[Use]] = {}
    for source, use in sources.items():
        by_file.setdefault(source.file, []).append(use)
    tests = sum(len(some) for file, some in by_file.items() if file.endswith("_test.go"))
    # Tests are told of elsewhere; and one user of each file tells more than several of one.
    told = [file for file in by_file if tests == len(sources) or not file.endswith("_test.go")]
    best = nsmallest(_PLACES, told, key=lambda file: (-ranks.get(file, 0.0), file))
    first = [min(by_file[file], key=_place) for file in best]
    if len(first) < _PLACES:
        first += [use for file in best for use in sorted(by_file[file], key=_place)[1 : _PLACES + 1]]
    places = ", ".join(f"{use.source.short} ({use.source.file}:{use.line})" for use in first[:_PLACES])
    text = counted(len(sources), noun)
    if len(by_file) > 1:
        text += f" in {len(by_file):,} files"
    if tests:
        text += f", {tests:,} in tests" if tests < len(sources) else ", tests only"
    return f"{text}: {places}"


def _place(use: Use) -> tuple[int, str]:
    return use.source.line, use.source.name


def _interfaces(facts: FileFacts) -> Iterable[CardSection]:
    lines: list[str] = []
    by_interface: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for interface, kind in facts.satisfied:
        by_interface[interface].append(kind)
    for interface, kinds in sorted(by_interface.items(), key=lambda item: (-len(item[1]), item[0].line)):
        kinds.sort(key=lambda kind: (kind.test, kind.file, kind.line))
        names = [f"{kind.short} ({kind.file}:{kind.line})" for kind in kinds]
        lines.append(f"{interface.local} is satisfied by {listed(names, _PLACES)}")
    by_type: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for kind, interface in facts.satisfies:
        if kind.kind != "interface" and interface.short != "error" and (kind.test or not interface.test):
            by_type[kind].append(interface)
    # Types that satisfy the same are told together.
    alike: defaultdict[tuple[str, ...], list[CardSymbol]] = defaultdict(list)
    for kind, interfaces in by_type.items():
        alike[tuple(_interface_names(interfaces))].append(kind)
    for interfaces_named, kinds in sorted(alike.items(), key=lambda item: (-len(item[1]), item[1][0].line)):
        subject = listed([kind.local for kind in sorted(kinds, key=lambda kind: kind.line)], _NAMES)
        lines.append(f"{subject} {'satisfies' if len(kinds) == 1 else 'satisfy'} {listed(interfaces_named, _NAMES)}")
    if lines:
        yield CardSection("Interfaces:", tuple(lines[:_FEW]), max(0, len(lines) - _FEW))


def _interface_names(interfaces: Iterable[CardSymbol]) -> list[str]:
    """Those of the repository first, with their places."""
    ordered = sorted(set(interfaces), key=lambda one: (not one.file, one.test, one.short, one.file))
    return [f"{one.short} ({one.file}:{one.line})" if one.file else one.short for one in ordered]


def _reached(facts: FileFacts) -> Iterable[CardSection]:
    best: dict[CardSymbol, tuple[int, CardSymbol]] = {}
    for reach in facts.reached:
        if reach.method.test or not reach.through.test:
            best[reach.method] = max(best.get(reach.method, (0, reach.through)), (reach.callers, reach.through))
    behind: defaultdict[tuple[int, CardSymbol], list[CardSymbol]] = defaultdict(list)
    for method, way in best.items():
        behind[way].append(method)
    ordered = sorted(behind.items(), key=lambda item: (-item[0][0], item[1][0].line))
    ways = [
        f"{listed([one.local for one in methods], _PLACES)} behind {through.short} ({counted(callers, 'caller')})"
        for (callers, through), methods in ordered
    ]
    if ways:
        yield CardSection(f"May be called through interfaces (candidates): {listed(ways, _NAMES)}")


def _tested(facts: FileFacts) -> Iterable[CardSection]:
    if facts.test or facts.generated:
        return
    if not facts.tests:
        is_used = facts.uses and not any(use.source.test for use in facts.uses)
        if is_used and any(symbol.kind in ("func", "method") for symbol in facts.symbols):
            yield CardSection("No test calls it directly.")
        return
    by_file: defaultdict[str, set[str]] = defaultdict(set)
    for test, _ in facts.tests:
        by_file[test.file].add(test.name)
    number = sum(map(len, by_file.values()))
    ordered = sorted(by_file.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = tuple(f"{file}: {listed(sorted(names), _NAMES)}" for file, names in ordered[:_PLACES])
    title = f"{counted(number, 'test')} in {counted(len(by_file), 'file')} {'reaches' if number == 1 else 'reach'} it:"
    yield CardSection(title, lines, len(ordered) - len(lines))


def _exercises(exercised: Iterable[tuple[str, str]]) -> Iterable[CardSection]:
    """For a test file: where the code is that it tests."""
    by_file: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file, name in exercised:
        by_file[file][name] += 1
    if by_file:
        ordered = sorted(by_file.items(), key=lambda item: (-item[1].total(), item[0]))
        lines = tuple(
            f"{file}: {listed([name for name, _ in sorted(names.items(), key=_most)], _NAMES)}"
            for file, names in ordered[:_FEW]
        )
        yield CardSection("What its tests call is declared in:", lines, len(ordered) - len(lines))


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return (-item[1], item[0])


def _changes(coupled: Coupled | None) -> Iterable[CardSection]:
    if coupled is None:
        return
    least = max(OFTEN, coupled.commits * SHARE)
    often = [partner for partner in coupled.partners if partner.commits >= least][:_FEW]
    if often:
        often.sort(key=lambda partner: (-partner.commits, partner.path))
        names = ", ".join(f"{partner.path} ({partner.commits:,})" for partner in often)
        yield CardSection(f"Changes along with (commits out of {coupled.commits:,}): {names}")


def _doubted(facts: FileFacts) -> Iterable[CardSection]:
    doubts = [doubt for doubt in facts.doubts if doubt[1] <= _COMMON]
    if doubts:
        names = [f"{name} ({number:,})" for name, number in sorted(doubts, key=_most)]
        yield CardSection(f"Unresolved uses elsewhere bear names of its methods: {listed(names, _PLACES)}")


def _unsettled(unresolved: Sequence[UnresolvedName]) -> Iterable[CardSection]:
    sites = sum(one.sites for one in unresolved)
    if sites:
        reasons: Counter[str] = Counter()
        for one in unresolved:
            reasons[one.reason] += one.sites
        reason, number = max(reasons.items(), key=lambda item: (item[1], item[0]))
        why = f"({reason})" if number == sites else f"({number:,} of them: {reason})"
        yield CardSection(f"Unresolved in it: {counted(sites, 'use')} {why}")
