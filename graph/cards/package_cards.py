"""Cards of packages and of the repository: what is where, what others depend on, what changed most recently."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from golore.graph.cards.card_sections import CardSection, fit_sections
from golore.graph.cards.card_text import MAX_CARD_CHARACTERS
from golore.graph.database.graph_tables import GraphTables
from golore.graph.history.co_change import FileHistory, directory_of
from golore.graph.phrases import counted, listed
from golore.graph.queries.file_facts import CardSymbol, FileFacts

_FEW: Final = 5
_MANY: Final = 10
_SENTENCE: Final = 200
_MODULES: Final = 6

Ranks = Mapping[str, float]


class _PackageFacts(NamedTuple):
    path: str
    name: str
    card_path: str
    doc: str
    test: bool


class PackageUse(NamedTuple):
    """What other directories use of one: how often each of them does, and the directories that use each declaration."""

    importers: Counter[str]
    declarations: Mapping[CardSymbol, Collection[str]]


class PackageUses:
    """What other directories use of each directory, tests excluded. Filled file by file with `add`."""

    def __init__(self) -> None:
        self._importers: dict[str, Counter[str]] = {}
        self._declarations: dict[str, dict[CardSymbol, set[str]]] = {}

    def add(self, facts: FileFacts) -> None:
        directory = directory_of(facts.path)
        importers = self._importers.setdefault(directory, Counter())
        declarations = self._declarations.setdefault(directory, {})
        users: list[str] = []
        for use in facts.uses:
            source = use.source
            if source.test:
                continue
            user = directory_of(source.file)
            if user != directory:
                users.append(user)
                target = use.target
                if target.kind != "field":
                    known = declarations.get(target)
                    if known is None:
                        declarations[target] = {user}
                    else:
                        known.add(user)
        importers.update(users)

    def of(self, directory: str) -> PackageUse:
        return PackageUse(self._importers.get(directory, Counter()), self._declarations.get(directory, {}))

    def importer_counts(self) -> dict[str, int]:
        """For each directory that other directories use, their number."""
        return {directory: len(importers) for directory, importers in self._importers.items() if importers}


class Prominence(NamedTuple):
    """What the repository's card says about the whole graph, as of the last full build."""

    depended_upon: tuple[tuple[str, int], ...]
    """directories with the number of other directories that use them"""
    central: tuple[str, ...]
    busy: tuple[str, ...]


def use_of_files(found: Iterable[FileFacts]) -> PackageUse:
    """The use of a directory, from the facts of all its files."""
    package_uses = PackageUses()
    directory = ""
    for facts in found:
        package_uses.add(facts)
        directory = directory_of(facts.path)
    return package_uses.of(directory)


def package_texts(
    tables: GraphTables,
    files: Iterable[str],
    use_of: Callable[[str, Sequence[str]], PackageUse],
    ranks: Ranks,
    coupled: Callable[[str], FileHistory | None],
) -> Iterator[tuple[str, str]]:
    """The card path ("dir/") and card text of each directory of `files`, which are all files of these directories.
    `use_of` is called with each directory and its files."""
    packages = _packages(tables)
    by_directory: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(files):
        by_directory[directory_of(path)].append(path)
    for directory, paths in sorted(by_directory.items()):
        package = next((one for one in packages.get(directory, ()) if not one.test), None)
        use = use_of(directory, paths)
        sections = [
            _size_section(package, directory, paths),
            *_doc_section(package),
            *_use_sections(use),
            *_central_section(paths, ranks),
            *_history_section(directory, coupled(directory)),
        ]
        yield directory, fit_sections(sections, MAX_CARD_CHARACTERS)


def _size_section(package: _PackageFacts | None, directory: str, paths: Sequence[str]) -> CardSection:
    tests = sum(1 for path in paths if _is_test(path))
    size = counted(len(paths), "file") + (f", {counted(tests, 'test')} among them" if tests else "")
    return CardSection(f"{_heading(package, directory)}: {size}.")


def _doc_section(package: _PackageFacts | None) -> Iterator[CardSection]:
    if package is not None and package.doc:
        yield CardSection(f"Its documentation begins: “{_first_sentence(package.doc)}”")


def _use_sections(use: PackageUse) -> Iterator[CardSection]:
    if use.importers:
        ordered = sorted(use.importers.items(), key=lambda item: (-item[1], item[0]))
        lines = tuple(f"{other}: {counted(number, 'use')}" for other, number in ordered[:_FEW])
        title = f"Used from {counted(len(ordered), 'other package')}:"
        yield CardSection(title, lines, len(ordered) - len(lines))
    if use.declarations:
        symbols = sorted(use.declarations.items(), key=lambda item: (-len(item[1]), item[0].local))
        lines = tuple(
            f"{symbol.local} ({symbol.kind}, {symbol.file}:{symbol.line}): from {counted(len(users), 'package')}"
            for symbol, users in symbols[:_MANY]
        )
        yield CardSection("Most used by other packages:", lines, len(symbols) - len(lines))


def _central_section(paths: Sequence[str], ranks: Ranks) -> Iterator[CardSection]:
    central = [path for path in sorted(paths, key=lambda one: (-ranks.get(one, 0.0), one)) if not _is_test(path)]
    if len(central) > _FEW:
        yield CardSection(f"Most central files: {', '.join(_file_names(central[:_FEW]))}")


def _history_section(directory: str, history: FileHistory | None) -> Iterator[CardSection]:
    if history is not None:
        far = [one for one in history.partners if directory_of(one.path) != directory and one.focused > 1][:_FEW]
        if far:
            names = ", ".join(f"{one.path} ({one.commits:,})" for one in far)
            yield CardSection(f"Changes along with (commits out of {history.commits:,}): {names}")


def prominence_of(files: Iterable[str], importers: Mapping[str, int], ranks: Ranks, busy: Iterable[str]) -> Prominence:
    """`importers`: for each directory, the number of other directories that use it. `busy`: the directories that
    changed most recently."""
    most_used = sorted(importers.items(), key=lambda item: (-item[1], item[0]))[:_MANY]
    return Prominence(
        tuple(most_used),
        tuple(sorted(files, key=lambda path: (-ranks.get(path, 0.0), path))[:_FEW]),
        tuple(busy),
    )


def overview_text(tables: GraphTables, files: Collection[str], prominent: Prominence) -> str:
    """The text of the repository's card."""
    modules: list[str] = [name for names in tables.node_columns("Repository", ("modules",))[1] for name in names]
    directories = Counter(directory_of(path) for path in files)
    tests = sum(1 for path in files if _is_test(path))
    modules_text = (
        f"Go {'module' if len(modules) == 1 else 'modules'} {listed(modules, _MODULES)}: " if modules else "Go code: "
    )
    directories_text = counted(len(directories), "directory")
    size_text = f"{counted(len(files), 'file')} ({counted(tests, 'test')}) in {directories_text}"
    sections = [CardSection(f"{modules_text}{size_text}, learned by golore.")]
    lines = tuple(
        f"{directory}: used from {counted(number, 'package')}" for directory, number in prominent.depended_upon
    )
    if lines:
        sections.append(CardSection("Most depended upon:", lines))
    mains = sorted(
        one.card_path for found in _packages(tables).values() for one in found if one.name == "main" and not one.test
    )
    if mains:
        mains.sort(key=lambda directory: (directory.count("/"), directory))
        sections.append(CardSection(f"Programs: {listed(mains, _MANY)}"))
    central = [path for path in prominent.central if path in files]
    if len(files) > _MANY and central:
        sections.append(CardSection(f"Most central files: {', '.join(central)}"))
    if prominent.busy and len(directories) > _FEW:
        sections.append(CardSection(f"Most changed recently: {', '.join(prominent.busy)}"))
    return fit_sections(sections, MAX_CARD_CHARACTERS)


def _packages(tables: GraphTables) -> dict[str, list[_PackageFacts]]:
    found: defaultdict[str, list[_PackageFacts]] = defaultdict(list)
    columns = tables.node_columns("Package", ("id", "path", "name", "dir", "doc", "test"))
    for _, path, name, directory, doc, test in sorted(zip(*columns[1:], strict=True)):
        card_path = f"{directory or '.'}/"
        found[card_path].append(_PackageFacts(path, name, card_path, doc, test))
    return found


def _heading(package: _PackageFacts | None, directory: str) -> str:
    return f"Package {package.path} ({package.name})" if package is not None else f"The tests in {directory}"


def _first_sentence(doc: str) -> str:
    text = " ".join(doc.replace("“", '"').replace("”", '"').split())
    end = text.find(". ")
    text = text[: end + 1] if 0 <= end < _SENTENCE else text
    return text if len(text) <= _SENTENCE else f"{text[:_SENTENCE].rpartition(' ')[0]} …"


def _file_names(paths: Sequence[str]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]


def _is_test(path: str) -> bool:
    return path.endswith("_test.go")
