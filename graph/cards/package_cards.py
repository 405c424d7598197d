"""Cards of packages and of the repository: what is where, what others depend on, what changed most recently."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from golore.graph.cards.card_text import MAX_CARD_CHARACTERS, CardSection, fit_sections
from golore.graph.database.store import Store
from golore.graph.history.co_change import FileHistory, directory_of
from golore.graph.phrases import counted, listed
from golore.graph.queries.file_facts import CardSymbol, FileFacts, WholeGraph

_FEW: Final = 5
_MANY: Final = 10
_SENTENCE: Final = 200
_MODULES: Final = 6

Ranks = Mapping[str, float]
Importers = Mapping[str, Counter[str]]


class _PackageFacts(NamedTuple):
    path: str
    name: str
    card_path: str
    doc: str
    test: bool


class OutsideUse:
    """The declarations of each directory that other directories use, tests excluded. Filled file by file with `add`."""

    def __init__(self) -> None:
        self.by_directory: defaultdict[str, dict[CardSymbol, set[str]]] = defaultdict(dict)
        """directory → declaration → the directories that use it"""

    def add(self, facts: FileFacts) -> None:
        directory = directory_of(facts.path)
        declarations = self.by_directory[directory]
        for use in facts.uses:
            if use.target.kind != "field":
                user = directory_of(use.source.file)
                if user != directory and not use.source.test:
                    declarations.setdefault(use.target, set()).add(user)


def package_texts(
    store: Store,
    graph: WholeGraph,
    outside: OutsideUse,
    importers: Importers,
    ranks: Ranks,
    coupled: Mapping[str, FileHistory],
) -> Iterator[tuple[str, str]]:
    """The card path ("dir/") and card text of each directory with Go files."""
    packages = _packages(store)
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(graph.files):
        files[directory_of(path)].append(path)
    for directory, paths in sorted(files.items()):
        package = next((one for one in packages.get(directory, ()) if not one.test), None)
        tests = sum(1 for path in paths if path.endswith("_test.go"))
        title = f"{_heading(package, directory)}: {counted(len(paths), 'file')}" + (
            f", {counted(tests, 'test')} among them" if tests else ""
        )
        sections = [CardSection(f"{title}.")]
        if package is not None and package.doc:
            sections.append(CardSection(f"Its documentation begins: “{_first_sentence(package.doc)}”"))
        if directory in importers:
            ordered = sorted(importers[directory].items(), key=lambda item: (-item[1], item[0]))
            lines = tuple(f"{other}: {counted(number, 'use')}" for other, number in ordered[:_FEW])
            sections.append(
                CardSection(f"Used from {counted(len(ordered), 'other package')}:", lines, len(ordered) - len(lines))
            )
        if outside.by_directory[directory]:
            symbols = sorted(outside.by_directory[directory].items(), key=lambda item: (-len(item[1]), item[0].local))
            lines = tuple(
                f"{symbol.local} ({symbol.kind}, {symbol.file}:{symbol.line}): from {counted(len(users), 'package')}"
                for symbol, users in symbols[:_MANY]
            )
            sections.append(CardSection("Most used by other packages:", lines, len(symbols) - len(lines)))
        central = [path for path in sorted(paths, key=lambda one: (-ranks.get(one, 0.0), one)) if not _is_test(path)]
        if len(central) > _FEW:
            sections.append(CardSection(f"Most central files: {', '.join(_file_names(central[:_FEW]))}"))
        history = coupled.get(directory)
        if history is not None:
            far = [one for one in history.partners if directory_of(one.path) != directory and one.commits > 1][:_FEW]
            if far:
                names = ", ".join(f"{one.path} ({one.commits:,})" for one in far)
                sections.append(CardSection(f"Changes along with (commits out of {history.commits:,}): {names}"))
        yield directory, fit_sections(sections, MAX_CARD_CHARACTERS)


def overview_text(
    store: Store, graph: WholeGraph, importers: Importers, ranks: Ranks, coupled: Mapping[str, FileHistory]
) -> str:
    """The text of the repository's card."""
    modules: list[str] = [name for row in store.rows("MATCH (r:Repository) RETURN r.modules") for name in row[0]]
    directories = Counter(directory_of(path) for path in graph.files)
    tests = sum(1 for path in graph.files if _is_test(path))
    modules_text = (
        f"Go {'module' if len(modules) == 1 else 'modules'} {listed(modules, _MODULES)}: " if modules else "Go code: "
    )
    size_text = f"{counted(len(graph.files), 'file')} ({counted(tests, 'test')}) in {len(directories):,} directories"
    sections = [CardSection(f"{modules_text}{size_text}, learned by golore.")]
    most_used = sorted(importers.items(), key=lambda item: (-len(item[1]), item[0]))[:_MANY]
    lines = tuple(f"{directory}: used from {counted(len(users), 'package')}" for directory, users in most_used if users)
    if lines:
        sections.append(CardSection("Most depended upon:", lines))
    mains = sorted(
        one.card_path for found in _packages(store).values() for one in found if one.name == "main" and not one.test
    )
    if mains:
        mains.sort(key=lambda directory: (directory.count("/"), directory))
        sections.append(CardSection(f"Programs: {listed(mains, _MANY)}"))
    central = sorted(graph.files, key=lambda path: (-ranks.get(path, 0.0), path))[:_FEW]
    if len(graph.files) > _MANY:
        sections.append(CardSection(f"Most central files: {', '.join(central)}"))
    busy = sorted((one for one in coupled.values() if one.path.endswith("/")), key=lambda one: (-one.busy, one.path))
    if busy and len(directories) > _FEW:
        sections.append(CardSection(f"Most changed of late: {', '.join(one.path for one in busy[:_FEW])}"))
    return fit_sections(sections, MAX_CARD_CHARACTERS)


def _packages(store: Store) -> dict[str, list[_PackageFacts]]:
    found: defaultdict[str, list[_PackageFacts]] = defaultdict(list)
    rows = store.rows("MATCH (p:Package) RETURN p.path, p.name, p.dir, p.doc, p.test ORDER BY p.id")
    for path, name, directory, doc, test in rows:
        card_path = f"{directory or '.'}/"
        found[card_path].append(_PackageFacts(path, name, card_path, doc, test))
    return found


def importers_of(graph: WholeGraph) -> Importers:
    """For each directory, the other directories that use it and how often. Uses in tests are not counted."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (user, used), number in graph.uses.items():
        if not _is_test(user) and directory_of(user) != directory_of(used):
            found[directory_of(used)][directory_of(user)] += number
    return found


def _heading(package: _PackageFacts | None, directory: str) -> str:
    return f"Package {package.path} ({package.name})" if package is not None else f"The tests in {directory}"


def _first_sentence(doc: str) -> str:
    text = " ".join(doc.replace("“", '"').replace("”", '"').split())
    end = text.find(". ")
    text = text[: end + 1] if 0 <= end < _SENTENCE else text
    return text if len(text) <= _SENTENCE else f"{text[:_SENTENCE].rpartition(' ')[0]} …"


def _file_names(paths: list[str]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]


def _is_test(path: str) -> bool:
    return path.endswith("_test.go")
