"""The users of a file's declarations, as its card shows them: places for the two most important declarations, counts
for all others.

`Name 47/14` means 47 users in 14 other files; a name without numbers has one user. Members follow their
type. Uses that are possible but not known are never counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final, final

from golore.graph.history.co_change import directory_of
from golore.graph.phrases import counted, listed, with_commas
from golore.graph.queries.file_facts import CardSymbol, FileFacts, Reach, Use

_LOCATIONS: Final = 3
_PLACED: Final = 2
"""Number of declarations whose users are shown with places, and most places of each."""
_MANY: Final = 5
"""A type is named for its members that are left out if there are so many."""
_SORTED: Final = 100
"""So many files are quicker to sort than to search for the best."""
LEGEND: Final = "3/2: 3 users in 2 files; no numbers: 1 user"
LEFT_OUT: Final = "more left out"
_MEMBERS: Final = ("method", "imethod", "field")

Ranks = Mapping[str, float]


@final
class UsedDeclaration:
    """A declaration that other files use. `in_tests`: all of its known users are in tests."""

    __slots__ = ("files", "in_tests", "symbol", "users")

    def __init__(self, symbol: CardSymbol, users: int, files: int, in_tests: bool) -> None:
        self.symbol = symbol
        self.users = users
        self.files = files
        self.in_tests = in_tests


@final
class _SymbolUses:
    """The uses of one declaration: of each user the one that says most, by file."""

    __slots__ = ("by_file", "is_only_called", "test_files", "tests", "users", "uses")

    def __init__(self, uses: list[Use]) -> None:
        sources: dict[CardSymbol, Use] = {}
        self.uses = len(uses)
        self.is_only_called = True
        for use in uses:
            if use.label != "CALLS":
                self.is_only_called = False
            # A symbol may use a type in several ways; the first known line says most.
            known = sources.get(use.source)
            if known is None or (not use.sites, use.line) < (not known.sites, known.line):
                sources[use.source] = use
        self.users = len(sources)
        self.by_file: dict[str, list[Use]] = {}
        for use in sources.values():
            file = use.source.file
            found = self.by_file.get(file)
            if found is None:
                self.by_file[file] = [use]
            else:
                found.append(use)
        self.tests = 0
        self.test_files = 0
        """the number of users in test files, and of these files"""
        for file, found in self.by_file.items():
            if file.endswith("_test.go"):
                self.tests += len(found)
                self.test_files += 1


class Users:
    """The uses of a file's declarations, by declaration, and texts about them; for its card and its symbol lines."""

    def __init__(self, facts: FileFacts, ranks: Ranks) -> None:
        by_symbol: dict[CardSymbol, list[Use]] = {}
        for use in facts.uses:
            uses = by_symbol.get(use.target)
            if uses is None:
                by_symbol[use.target] = [use]
            else:
                uses.append(use)
        self.by_symbol = {symbol: _SymbolUses(uses) for symbol, uses in by_symbol.items()}
        self._ranks = ranks
        self._generated = facts.generated_files
        self._facts = facts
        self._texts: dict[CardSymbol, str] = {}
        self._callers_of: dict[CardSymbol, list[Reach]] = {}
        for reach in facts.candidate_calls:
            self._callers_of.setdefault(reach.method, []).append(reach)
        self._outside: dict[CardSymbol, list[str]] = {}
        for method, interface in facts.outside_calls:
            self._outside.setdefault(method, []).append(interface.short)
        self._unresolved = dict(facts.same_named_unresolved)
        self._unnamed = dict(facts.unnamed_calls)

    def files(self) -> set[str]:
        """The other files that use a declaration of the file."""
        files: set[str] = set()
        for uses in self.by_symbol.values():
            files.update(uses.by_file)
        return files

    def text(self, symbol: CardSymbol) -> str:
        """The known users; empty if there are none."""
        if symbol not in self._texts:
            uses = self.by_symbol.get(symbol)
            self._texts[symbol] = self._users_text(uses) if uses else ""
        return self._texts[symbol]

    def possible(self, symbol: CardSymbol) -> str:
        """The uses that are possible but not known: calls through interfaces, and unresolved uses of its name."""
        parts: list[str] = []
        if symbol in self._callers_of:
            parts.append(self._candidates_text(self._callers_of[symbol]))
        if symbol in self._outside:
            parts.append(f"satisfies {listed(sorted(set(self._outside[symbol])), _LOCATIONS)} from outside")
        if symbol.kind == "method" and (calls := self._unnamed.get(symbol.name)):
            parts.append(f"may be called through unnamed interfaces ({counted(calls, 'call')})")
        if symbol.kind in _MEMBERS and (number := self._unresolved.get(symbol.name)):
            parts.append(f"{counted(number, 'unresolved use')} of the name {symbol.name}")
        return "; ".join(parts)

    def in_order(self) -> list[UsedDeclaration]:
        """The used declarations, the most important first; those that only tests are known to use come last."""
        found = [_declaration(symbol, uses) for symbol, uses in self.by_symbol.items()]
        found.sort(key=lambda item: (item[1].in_tests, -item[0], item[1].symbol.line, item[1].symbol.qualified_name))
        return [one for _, one in found]

    def placed(self, used: Sequence[UsedDeclaration]) -> list[UsedDeclaration]:
        """The declarations whose users are shown with places, the first of `used`. Tests have their own section."""
        is_shown = self._facts.test or not self._facts.test_users
        placed: list[UsedDeclaration] = []
        for one in used[:_PLACED]:
            # The users of a field are mostly those of its struct.
            is_repeated = (
                one.symbol.kind == "field" and placed and one.symbol.local.startswith(f"{placed[0].symbol.local}.")
            )
            if (is_shown or not one.in_tests) and not is_repeated:
                placed.append(one)
        return placed

    def places(self, one: UsedDeclaration) -> str:
        """A declaration with its counts and the places of its most important users."""
        uses = self._best_uses(self.by_symbol[one.symbol], _PLACED)
        return f"{one.symbol.local}{_counts(one)}: {', '.join(map(_place, uses))}"

    def _candidates_text(self, reaches: Sequence[Reach]) -> str:
        named = [reach for reach in reaches if not is_coincidence(self._facts, reach)]
        if not named:
            return f"may be called through interfaces that have only the method {reaches[0].method.name}"
        most = max(named, key=lambda reach: (reach.callers, reach.through.short))
        more = len(named) - 1
        others = f" and {counted(more, 'other interface')}" if more else ""
        return f"may be called through {most.through.short} ({counted(most.callers, 'caller')}){others}"

    def _users_text(self, uses: _SymbolUses) -> str:
        """The known users of a declaration. That all of these are tests does not mean that no others exist."""
        text = counted(uses.users, "caller" if uses.is_only_called else "user")
        if len(uses.by_file) > 1:
            text += f" in {len(uses.by_file):,} files"
        if uses.tests:
            text += f", {uses.tests:,} in tests" if uses.tests < uses.users else ", in tests"
        return f"{text}: {', '.join([_place(use) for use in self._best_uses(uses, _LOCATIONS)])}"

    def _best_uses(self, uses: _SymbolUses, most: int) -> list[Use]:
        """The most important uses: of each user one, and of each file one before the others. Tests, which have their
        own section, and generated files come only if there are no others."""
        by_file = uses.by_file
        if len(by_file) == 1:
            best = list(by_file)
        else:
            code = [file for file in by_file if not file.endswith("_test.go")]
            shown = [file for file in code if file not in self._generated] or code or list(by_file)
            best = self._most_important(shown, most)
        first = [min(by_file[file], key=_by_declaration) for file in best]
        if len(first) < most:
            first += [use for file in best for use in sorted(by_file[file], key=_by_declaration)[1 : most + 1]]
        return first[:most]

    def _most_important(self, files: list[str], most: int) -> list[str]:
        """The first of the files by rank, then by path."""
        ranks = self._ranks
        ordered = [(-ranks.get(file, 0.0), file) for file in files]
        best = sorted(ordered)[:most] if len(ordered) <= _SORTED else nsmallest(most, ordered)
        return [file for _, file in best]


def is_coincidence(facts: FileFacts, reach: Reach) -> bool:
    """Whether the interface through which a method may be called is a plain one of another package."""
    interface = reach.through.qualified_name.rpartition(".")[0]
    is_near = directory_of(reach.through.file) == directory_of(facts.path)
    return not is_near and interface in facts.plain_interfaces


class UsedList:
    """Used declarations with their counts, as a text that is cut to the room that a card has."""

    def __init__(self, used: Sequence[UsedDeclaration]) -> None:
        self._used = [_listed(one) for one in used]
        self._texts: dict[int, str] = {}

    def text(self, room: int) -> str:
        """As many of the first declarations as fit, and the number of those that were left out."""
        low, high = 0, len(self._used)
        full = self._first(high)
        if len(full) <= room:
            return full
        guess = high * room // len(full)  # nearly right
        while low < high:
            if len(self._first(guess)) <= room:
                low = guess
            else:
                high = guess - 1
            guess = (low + high + 1) // 2
        return self._first(low)

    def _first(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = _list_text(self._used, number)
        return self._texts[number]


@final
class _Listed:
    """A declaration as a list names it. `owner`: its type, for a member; else its own name."""

    __slots__ = ("in_tests", "is_member", "of_type", "owner", "text")

    def __init__(self, owner: str, text: str, is_member: bool, of_type: bool, in_tests: bool) -> None:
        self.owner = owner
        self.text = text
        self.is_member = is_member
        self.of_type = of_type
        self.in_tests = in_tests


def _listed(one: UsedDeclaration) -> _Listed:
    local = one.symbol.local
    of_type = one.symbol.kind in _MEMBERS
    owner, _, name = local.partition(".")
    if name and of_type:
        return _Listed(owner, f"{name}{_counts(one)}", True, True, one.in_tests)
    return _Listed(local, f"{local}{_counts(one)}", False, of_type, one.in_tests)


def _list_text(used: Sequence[_Listed], number: int) -> str:
    code = _grouped([one for one in used[:number] if not one.in_tests])
    tests = _grouped([one for one in used[:number] if one.in_tests])
    parts = [code] if code else []
    if tests:
        parts.append(f"in tests: {tests}")
    if number < len(used):
        parts.append(f"{len(used) - number:,} {LEFT_OUT}{_owners(used[number:])}")
    return "; ".join(parts)


def _owners(left: Sequence[_Listed]) -> str:
    """The types that have most of these declarations, with their numbers: where to look for the names."""
    owners = Counter([one.owner.partition(".")[0] for one in left if one.of_type])
    best = [(owner, number) for owner, number in owners.most_common(_LOCATIONS) if number >= _MANY]
    return f" ({', '.join(f'{number:,} of {owner}' for owner, number in best)})" if best else ""


def _grouped(used: Sequence[_Listed]) -> str:
    """`Cache 6/6 (Stop 3/2, Keys 2/2), Tree.{Root 9/4, Name}, New 7/5`: members in parentheses after their type, in
    braces if the type itself is not one of these."""
    members: dict[str, list[str]] = {}
    own: dict[str, str] = {}
    for one in used:
        if one.is_member:
            found = members.get(one.owner)
            if found is None:
                members[one.owner] = [one.text]
            else:
                found.append(one.text)
            own.setdefault(one.owner, "")
        else:
            own[one.owner] = one.text
    return ", ".join([_with_members(name, text, members.get(name, [])) for name, text in own.items()])


def _with_members(name: str, text: str, members: Sequence[str]) -> str:
    if not members:
        return text
    if text:
        return f"{text} ({', '.join(members)})"
    return f"{name}.{{{', '.join(members)}}}" if len(members) > 1 else f"{name}.{members[0]}"


def _counts(one: UsedDeclaration) -> str:
    if one.users <= 1:
        return ""
    return f" {with_commas(one.users)}/{with_commas(one.files)}"


def _declaration(symbol: CardSymbol, uses: _SymbolUses) -> tuple[float, UsedDeclaration]:
    """A used declaration with its score: how much its users matter. Test files count less than others, and so do fields
    and constants."""
    files, tests = len(uses.by_file), uses.test_files
    # Files are counted first: a sum of floats depends on their order, and a set has none.
    score = 0.3 * tests + (files - tests) + uses.uses / 100
    score *= 0.4 if symbol.kind in ("field", "const") else 1.0
    return score, UsedDeclaration(symbol, uses.users, files, tests == files)


def _place(use: Use) -> str:
    return f"{use.source.short} ({use.source.file}:{use.line})"


def _by_declaration(use: Use) -> tuple[bool, int, str]:
    """Sort key: a declaration without a name, which only checks a type, comes last."""
    return use.source.name == "_", use.source.line, use.source.name


def distance(path: str, other: CardSymbol) -> tuple[bool, bool]:
    """Sort key: declarations of the same file first, then those of the same directory."""
    return other.file != path, directory_of(other.file) != directory_of(path)
