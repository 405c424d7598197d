"""The text of a card: facts about a file that the file itself does not show, most useful first, in few words.

A card states facts and nothing else. A possible call through an interface is called a candidate, and unresolved uses
are reported as such. Each section shows the lines that fit and says how many were left out. `queries.file_facts`
collects the facts, `card_users` says who uses them, and `card_builder` decides which cards are built.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from golore.graph.cards.annotations import NO_ANNOTATIONS, Annotations
from golore.graph.cards.card_sections import DROPPED, CardSection, fit_sections
from golore.graph.cards.card_users import LEFT_OUT, LEGEND, UsedDeclaration, UsedList, Users, distance, is_coincidence
from golore.graph.history.co_change import FileHistory, directory_of
from golore.graph.history.co_change_edges import MIN_SHARED_COMMITS, MIN_SHARED_FRACTION
from golore.graph.phrases import counted, joined, listed
from golore.graph.queries.file_facts import CardSymbol, FileFacts
from golore.graph.safety.visible_text import visible_line

MAX_CARD_CHARACTERS: Final = 2_000
"""Most characters of a card."""
_LIST_ROOMS: Final = (1_000, 850, 700, 550)
"""Characters that the list of used declarations gets even if other sections then lose lines; less if they would be
lost as a whole."""
_LONG_LIST: Final = 600
"""If the list of used declarations is longer than this, the other sections are shortened."""
_DENSE: Final = 1
_GENERATED_ROOMS: Final = (300,)
"""Like `_LIST_ROOMS`, for a generated file."""
_LOCATIONS: Final = 3
_NAMES: Final = 4
_FEW: Final = 5
_PLACES: Final = 2
"""With more interfaces or types than this, they are named without their places."""
_OWN_SHARE: Final = 3
"""Beside a main part, the own part takes at most one part in this many of a card."""
_COMMON: Final = 30
"""With more unresolved uses than this, a name is so common that they say nothing about one method."""
_SAYS_NOTHING: Final = frozenset(
    (
        *("error", "expvar.Var", "fmt.Stringer", "io.Closer", "sort.Interface"),
        *("json.Marshaler", "json.Unmarshaler", "encoding.TextMarshaler", "encoding.TextUnmarshaler"),
    )
)
"""External interfaces that a reader sees from the method itself."""


def file_texts(
    facts: FileFacts,
    coupled: FileHistory | None,
    users: Users,
    longest: int = MAX_CARD_CHARACTERS,
    annotations: Annotations = NO_ANNOTATIONS,
) -> tuple[str, str]:
    """The card of a file in two parts, `Card.main` and `Card.own`. Both are empty if there is nothing to say."""
    used = users.in_order()
    rest = UsedList(used[len(users.placed(used)) :])
    most = _DENSE if len(rest.text(longest)) > _LONG_LIST else _LOCATIONS
    before = [*_role_and_notes(annotations), *_used_by(facts, users, used)]
    after = [
        *_interfaces(facts),
        *_candidate_calls(facts, most),
        *_tests(facts, most),
        *_changes_with(coupled, facts.generated_files, most + 2),
        *_documents(annotations),
    ]
    # These are shown only beside other facts: alone they do not justify a card.
    minor: list[CardSection] = []
    if before or after:
        before = [*_origin(facts), *before]
        minor = [*_last_commit(annotations), *_same_named_uses(facts)]
    exercised = [(target.file, target.local) for _, target in facts.tested]
    own = own_text(facts.path, exercised, longest, is_alone=not before and not after)
    room = longest - len(own) - 1
    if not rest.text(longest):
        return fit_sections([*before, *after, *minor], room), own
    rooms = _GENERATED_ROOMS if facts.generated else _LIST_ROOMS
    return _fit_with_list(before, rest, after, minor, room, rooms), own


def _fit_with_list(
    before: Sequence[CardSection],
    used: UsedList,
    after: Sequence[CardSection],
    minor: Sequence[CardSection],
    room: int,
    list_rooms: Sequence[int],
) -> str:
    """The sections with a list of used declarations between them. The list gets the first of `list_rooms` with which no
    section but minor ones is lost; if it does not fit into that, it also gets what the sections leave."""

    def fitted(characters: int, last: Sequence[CardSection]) -> tuple[str, str]:
        shown = used.text(characters)
        return shown, fit_sections([*before, CardSection("", (shown,)), *after, *last], room)

    shown, text = fitted(list_rooms[0], minor)
    if DROPPED in text or LEFT_OUT in shown:
        minor = ()
        for characters in list_rooms:
            shown, text = fitted(characters, minor)
            if DROPPED not in text:
                break
    if LEFT_OUT in shown and len(text) < room:
        shown, text = fitted(len(shown) + room - len(text), minor)
    return text


def own_text(
    path: str, exercised: Iterable[tuple[str, str]], longest: int = MAX_CARD_CHARACTERS, *, is_alone: bool
) -> str:
    """The own part of a file's card: what tests in the file call, as pairs of file and name.

    `is_alone`: the card has no main part. Then the part may fill the card.
    """
    return fit_sections([*_tested_files(path, exercised)], longest if is_alone else longest // _OWN_SHARE)


def with_annotations(text: str, annotations: Annotations, longest: int = MAX_CARD_CHARACTERS) -> str:
    """The text of a package or repository card with annotations added. Lines that no longer fit are left out."""
    if annotations == NO_ANNOTATIONS:
        return text
    before = fit_sections([*_role_and_notes(annotations)], longest)
    after = fit_sections([*_documents(annotations)], max(0, longest - len(before)))
    room = longest - len(before) - len(after) - 2
    lines = text.splitlines()
    shown = list(lines)
    while shown and len("\n".join(shown)) + (len(_left_out(lines, shown)) + 1) * (len(shown) < len(lines)) > room:
        shown.pop()
    middle = [*shown, _left_out(lines, shown)] if len(shown) < len(lines) else shown
    return "\n".join(filter(None, (before, *middle, after)))


def _left_out(lines: Sequence[str], shown: Sequence[str]) -> str:
    return f"{counted(len(lines) - len(shown), 'more line')} left out"


def symbol_texts(facts: FileFacts, wanted: Iterable[CardSymbol], users: Users) -> Iterable[tuple[CardSymbol, str]]:
    """A text about each of `wanted`, declarations of the file."""
    tests: defaultdict[CardSymbol, set[str]] = defaultdict(set)
    interfaces: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for test, target in facts.tests:
        tests[target].add(test.name)
    for kind, interface in facts.satisfies:
        if not _is_coincidence(facts, interface):
            interfaces[kind].append(interface)
    types = Counter([interface for interface, _ in facts.satisfied])
    callers = _callers_by_interface(facts) if interfaces else {}
    for symbol in wanted:
        parts = [f"{symbol.kind} {symbol.short} ({symbol.file}:{symbol.line})"]
        known_or_possible = [*filter(None, (users.text(symbol), users.possible(symbol)))]
        parts += known_or_possible or ["no use in other files is known"]
        if symbol in tests:
            parts.append(f"tested by {listed(sorted(tests[symbol]), _LOCATIONS)}")
        if symbol in interfaces:
            shown = _interfaces_in_order(interfaces[symbol], facts.path, callers)
            parts.append(f"satisfies {_few_or_number(_names_and_places(shown, facts.path), 'interface')}")
        if types[symbol]:
            parts.append(f"satisfied by {counted(types[symbol], 'type')}")
        yield symbol, visible_line("; ".join(parts))


def _role_and_notes(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.role:
        yield CardSection(annotations.role)
    if annotations.notes:
        yield CardSection("Notes:", annotations.notes, annotations.more_notes)


def _documents(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.documents:
        yield CardSection("Documents:", annotations.documents)


def _last_commit(annotations: Annotations) -> Iterable[CardSection]:
    if annotations.recent:
        yield CardSection(annotations.recent)


def _origin(facts: FileFacts) -> Iterable[CardSection]:
    if facts.generated:
        source = facts.origin.partition(" from ")[2]
        where = f": changes belong in {source}" if source else ": changes here are lost when it is generated again"
        yield CardSection(f"Generated {facts.origin}".rstrip() + where)


def _used_by(facts: FileFacts, users: Users, used: Sequence[UsedDeclaration]) -> Iterable[CardSection]:
    """Where the file's declarations are used, and the places of the most important users."""
    if not used:
        return
    files = users.files()
    tests = sum(1 for file in files if file.endswith("_test.go"))
    if tests == len(files) and not facts.test:
        title = "Its known users in other files are tests"
    else:
        directories = {directory_of(file) for file in files}
        title = f"Used from {counted(len(files), 'other file')}"
        title += f" ({counted(tests, 'test')} among them)" if tests and not facts.test else ""
        is_own = directories == {directory_of(facts.path)}
        title += " of its own package" if is_own else f" in {counted(len(directories), 'package')}"
    placed = users.placed(used)
    if len(placed) < len(used):
        title += f". {LEGEND}"
        lines = [*map(users.places, placed)]
    else:
        lines = [f"{one.symbol.local}: {users.text(one.symbol)}" for one in placed]
    # Each line is a section of its own: of a longer one, the last line may be left out.
    yield CardSection(f"{title}.", tuple(lines[:1]))
    yield from (CardSection("", (line,)) for line in lines[1:])


def _interfaces(facts: FileFacts) -> Iterable[CardSection]:
    lines = [*_satisfied_lines(facts), *_satisfies_lines(facts)]
    if lines:
        yield CardSection("Interfaces:", tuple(lines[:_FEW]), max(0, len(lines) - _FEW))


def _satisfied_lines(facts: FileFacts) -> Iterable[str]:
    """The interfaces of the file, with the types that satisfy them; of more than a few, their number and the first."""
    by_interface: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for interface, kind in facts.satisfied:
        by_interface[interface].append(kind)
    for interface, kinds in sorted(by_interface.items(), key=lambda item: (-len(item[1]), item[0].line)):
        near = [kind for kind in kinds if directory_of(kind.file) == directory_of(facts.path)]
        # Types of other packages may satisfy a plain interface by coincidence.
        certain = near if interface.qualified_name in facts.plain_interfaces else kinds
        # Real types before fakes in tests, those of this file and package before others.
        certain.sort(key=lambda kind: (kind.test, *distance(facts.path, kind), kind.file, kind.line))
        names = _names_and_places(certain, facts.path)
        if len(certain) > _FEW:
            among = joined(names[:_LOCATIONS])
            yield f"{interface.local} is satisfied by {counted(len(certain), 'type')}, among them {among}"
        elif certain:
            yield f"{interface.local} is satisfied by {', '.join(names)}"


def _satisfies_lines(facts: FileFacts) -> Iterable[str]:
    """The types of the file, with the interfaces of other files that they satisfy. Types that satisfy the same ones
    share a line."""
    by_type: defaultdict[CardSymbol, list[CardSymbol]] = defaultdict(list)
    for kind, interface in facts.satisfies:
        is_elsewhere = interface.file != facts.path and (kind.test or not interface.test)
        if kind.kind != "interface" and is_elsewhere and not _is_coincidence(facts, interface):
            by_type[kind].append(interface)
    callers = _callers_by_interface(facts) if by_type else {}
    by_interfaces: defaultdict[tuple[CardSymbol, ...], list[CardSymbol]] = defaultdict(list)
    for kind, interfaces in by_type.items():
        by_interfaces[_interfaces_in_order(interfaces, facts.path, callers)].append(kind)
    for shared, kinds in sorted(by_interfaces.items(), key=lambda item: (-len(item[1]), item[1][0].line)):
        subject = listed([kind.local for kind in sorted(kinds, key=lambda kind: kind.line)], _NAMES)
        verb = "satisfies" if len(kinds) == 1 else "satisfy"
        inside = [interface for interface in shared if interface.file]
        outside = [interface.short for interface in shared if not interface.file]
        names = [_few_or_number(_names_and_places(inside, facts.path), "interface")] if inside else []
        if len(outside) > _PLACES:
            names.append(f"{counted(len(outside), 'external interface')} such as {outside[0]}")
        else:
            names += outside
        yield f"{subject} {verb} {joined(names)}"


def _is_coincidence(facts: FileFacts, interface: CardSymbol) -> bool:
    if not interface.file:
        return interface.short in _SAYS_NOTHING
    is_near = directory_of(interface.file) == directory_of(facts.path)
    return not is_near and interface.qualified_name in facts.plain_interfaces


def _callers_by_interface(facts: FileFacts) -> dict[str, int]:
    """Qualified name of an interface → number of calls through it that may reach the file."""
    callers: dict[str, int] = {}
    for reach in facts.candidate_calls:
        interface = reach.through.qualified_name.rpartition(".")[0]
        callers[interface] = callers.get(interface, 0) + reach.callers
    return callers


def _interfaces_in_order(
    interfaces: Iterable[CardSymbol], path: str, callers: dict[str, int]
) -> tuple[CardSymbol, ...]:
    """The repository's interfaces first, of these the ones with the most callers, then the nearest to the file."""
    distinct = set(interfaces)
    if len(distinct) == 1:
        return tuple(distinct)

    def key(one: CardSymbol) -> tuple[bool, bool, int, tuple[bool, bool], str, str]:
        called = callers.get(one.qualified_name, 0)
        return not one.file, one.test, -called, distance(path, one), one.short, one.file

    return tuple(sorted(distinct, key=key))


def _names_and_places(symbols: Collection[CardSymbol], path: str) -> list[str]:
    """The names as other packages write them, with places if there are few. Those of the file itself need none."""
    return [
        symbol.local
        if symbol.file and symbol.file == path
        else f"{symbol.short} ({symbol.file}:{symbol.line})"
        if symbol.file and len(symbols) <= _PLACES
        else symbol.short
        for symbol in symbols
    ]


def _few_or_number(names: Sequence[str], noun: str) -> str:
    """All names if there are few, else their number and the first two."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{counted(len(names), noun)}, among them {joined(names[:2])}"


def _candidate_calls(facts: FileFacts, most: int) -> Iterable[CardSection]:
    """The methods that may be called through interfaces, by interface; of several interfaces the most called one."""
    best: dict[CardSymbol, tuple[int, CardSymbol]] = {}
    for reach in facts.candidate_calls:
        if (reach.method.test or not reach.through.test) and not is_coincidence(facts, reach):
            best[reach.method] = max(best.get(reach.method, (0, reach.through)), (reach.callers, reach.through))
    methods: defaultdict[str, list[CardSymbol]] = defaultdict(list)
    calls: defaultdict[str, dict[CardSymbol, int]] = defaultdict(dict)
    for method, (callers, through) in sorted(best.items(), key=lambda item: (-item[1][0], item[0].line)):
        interface = through.short.rpartition(".")[0]
        methods[interface].append(method)
        calls[interface][through] = callers
    ordered = sorted(methods, key=lambda interface: (-sum(calls[interface].values()), interface))
    texts = [
        f"{listed([method.local for method in methods[interface]], most)} behind {interface} "
        f"({counted(sum(calls[interface].values()), 'caller')})"
        for interface in ordered
    ]
    if texts:
        more = f" and {counted(len(texts) - most, 'other interface')}" if len(texts) > most else ""
        yield CardSection(f"May be called through interfaces (candidates): {', '.join(texts[:most])}{more}")


def _tests(facts: FileFacts, most: int) -> Iterable[CardSection]:
    if facts.test or facts.generated:
        return
    if facts.test_users:
        by_file: defaultdict[str, set[str]] = defaultdict(set)
        for test in facts.test_users:
            by_file[test.file].add(test.name)
        number = sum(map(len, by_file.values()))
        ordered = sorted(by_file.items(), key=lambda item: (-len(item[1]), item[0]))
        verb = "uses" if number == 1 else "use"
        tests = f"{counted(number, 'test')} in {counted(len(by_file), 'file')}"
        title = f"{tests} {verb} it, directly or through helpers of test files:"
        if most < _LOCATIONS or len(ordered) > _LOCATIONS:
            files = listed([f"{file} ({len(names):,})" for file, names in ordered], _LOCATIONS)
            yield CardSection(f"{title} {files}")
        else:
            yield CardSection(title, tuple(f"{file}: {listed(sorted(names), _NAMES)}" for file, names in ordered))
    elif facts.uses and not any(use.source.test for use in facts.uses):
        possible = (facts.candidate_calls, facts.outside_calls, facts.unnamed_calls, facts.same_named_unresolved)
        if not any(possible) and any(symbol.kind in ("func", "method") for symbol in facts.symbols):
            yield CardSection("No test is known that uses it directly.")
    yield from _candidate_tests(facts)


def _candidate_tests(facts: FileFacts) -> Iterable[CardSection]:
    """Tests that call an interface method behind which a method of the file may be, and do not reach the file else."""
    known = set(facts.test_users)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for reach in facts.candidate_calls:
        if not is_coincidence(facts, reach):
            for test in reach.tests:
                if test not in known:
                    found[test.file].add(test.name)
    if found:
        directory = directory_of(facts.path)
        ordered = sorted(found, key=lambda file: (directory_of(file) != directory, -len(found[file]), file))
        number = sum(map(len, found.values()))
        names = listed([f"{file} ({len(found[file]):,})" for file in ordered], _LOCATIONS)
        yield CardSection(f"{counted(number, 'test')} may reach it through interfaces (candidates): {names}")


def _tested_files(path: str, exercised: Iterable[tuple[str, str]]) -> Iterable[CardSection]:
    """For a test file: the files that declare the code it tests. Code of other packages may be no more than a harness,
    so those of its own come first."""
    by_file: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file, name in exercised:
        by_file[file][name] += 1
    if by_file:
        directory = directory_of(path)
        ordered = sorted(
            by_file.items(), key=lambda item: (directory_of(item[0]) != directory, -item[1].total(), item[0])
        )
        lines = tuple(
            f"{file}: {listed([name for name, _ in sorted(names.items(), key=_most_first)], _NAMES)}"
            for file, names in ordered[:_FEW]
        )
        title = "What its tests call is declared in"
        if directory_of(ordered[0][0]) != directory:
            title = "What its tests call is declared in other packages"
        yield CardSection(f"{title}:", lines, len(ordered) - len(lines))


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return (-item[1], item[0])


def _changes_with(coupled: FileHistory | None, generated: Collection[str], most: int) -> Iterable[CardSection]:
    if coupled is None:
        return
    least = max(MIN_SHARED_COMMITS, coupled.commits * MIN_SHARED_FRACTION)
    partners = [one for one in coupled.partners if one.focused >= least and one.path not in generated][:most]
    if partners:
        partners.sort(key=lambda partner: (-partner.commits, partner.path))
        names = ", ".join(f"{partner.path} ({partner.commits:,})" for partner in partners)
        yield CardSection(f"Changes along with (commits out of {coupled.commits:,}): {names}")


def _same_named_uses(facts: FileFacts) -> Iterable[CardSection]:
    """Unresolved uses that may be uses of the file's methods. A name of one word, like `Add`, says nothing, and neither
    does one that an external interface requires, like `WriteString`."""
    methods = {symbol.name for symbol in facts.symbols if symbol.kind in ("method", "imethod")}
    methods -= {method.name for method, _ in facts.outside_calls}
    uses = [
        (name, number)
        for name, number in facts.same_named_unresolved
        if name in methods and number <= _COMMON and any(letter.isupper() for letter in name[1:])
    ]
    if uses:
        names = [f"{name} ({number:,})" for name, number in sorted(uses, key=_most_first)]
        yield CardSection(f"Unresolved uses in other files share names with its methods: {listed(names, _LOCATIONS)}")
