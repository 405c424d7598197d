"""Structural summaries: two sentences that are composed from the graph, without a model, and never stored.

The first says what code is for, by quoting its doc comment or those of its main declarations. The second says what its
position is: entry point, hub, leaf, adapter, generated code, test support, and what depends on it most. Everything in
them is a fact of the graph. They do not list what code contains; `surrounding_facts` does, for prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.history.co_change import directory_of
from golore.graph.knowledge.surrounding_facts import NOUNS, article, first_sentence, is_open, may_be_tested
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.phrases import counted, joined
from golore.graph.queries.answers import Answer, Meaning, Ref
from golore.graph.queries.edges import inbound, outbound, symbols
from golore.graph.queries.file_facts import CardSymbol, FileFacts
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.graph.queries.questions import users
from golore.graph.queries.single_file import SingleFile

_MAIN: Final = 2
"""Most declarations whose doc comments say what a file or package is for."""
_HUB: Final = 10
"""A file that so many packages use, or a package that so many import, is a hub."""
_CONSIDERED: Final = 40
"""Most declarations of a package whose users are counted to find its main ones."""
_CONTRACTS: Final = 2
_PROSE: Final = 5
"""A paragraph of a README with no more words than this is a title or a list of marks."""
_NOT_NAMED: Final = frozenset(("error", "fmt.Stringer"))


def structural_summary(store: Store, level: str, subject: str) -> str:
    """The summary of a symbol, file, package or the repository; empty if the graph does not have it."""
    if level == "symbol":
        found = symbols(store, [subject])
        return _symbol(store, found[0], ShortNames(store)) if found else ""
    if level == "file":
        facts = SingleFile(store).facts(subject)
        return _file(store, facts) if facts is not None else ""
    if level == "package":
        return _package(store, subject)
    return _repository(store) if subject == REPOSITORY_ID else ""


def _symbol(store: Store, symbol: Ref, naming: Naming) -> str:
    rows = store.rows("MATCH (s:Symbol {id: $id}) RETURN s.doc, s.signature, s.deprecated", {"id": symbol.id})
    doc, signature, is_deprecated = next(iter(rows))
    noun = NOUNS.get(symbol.kind, symbol.kind)
    purpose = f"{naming(symbol.qualified_name)} is {article(noun)} {noun} in {symbol.file}"
    purpose += f": “{first_sentence(doc)}”" if doc else f", declared as `{signature}`."
    answer = users(store, Meaning(symbol.qualified_name, (symbol,)))
    position = ["it is deprecated"] if is_deprecated else []
    if symbol.kind == "func" and symbol.name in ("main", "init"):
        position.append("it is an entry point")
    else:
        position += _use_clauses(answer, naming)
    position += _contract_clauses(store, symbol, naming)
    if symbol.kind in ("func", "method") and not symbol.test:
        if any(True for _ in inbound(store, symbol, ("TESTS",))):
            position.append("tests reach it")
        elif not may_be_tested(answer):
            position.append("no test is known to call it")
    return _sentences(purpose, position)


def _use_clauses(answer: Answer, naming: Naming) -> Iterable[str]:
    code = {link.symbol.id: link.symbol for link in answer.resolved if not link.symbol.test}
    if code:
        files = {symbol.file for symbol in code.values()}
        where = f" in {counted(len(files), 'file')}" if len(files) > 1 else ""
        verb = "uses" if len(code) == 1 else "use"
        own = directory_of(answer.subject.first.file)
        yield f"{counted(len(code), 'declaration')}{where} {verb} it{_most_of_all(code.values(), own, naming)}"
    elif not is_open(answer):
        yield "only tests use it" if answer.resolved else "no use of it is known"
    elif answer.resolved:
        yield "its known users are tests"
    through = Counter(link.via for link in answer.candidates if link.via)
    if through:
        interface, number = min(through.items(), key=lambda item: (-item[1], item[0]))
        yield f"it may be called through {naming(interface)} ({counted(number, 'caller')})"
    if answer.unresolved.outside:
        yield f"it may be called from outside the repository through {naming(answer.unresolved.outside[0])}"
    if answer.unresolved.sites:
        verb = "has" if answer.unresolved.sites == 1 else "have"
        yield f"{counted(answer.unresolved.sites, 'unresolved use')} {verb} its name"


def _most_of_all(found: Iterable[Ref], own: str, naming: Naming) -> str:
    """The directory with the most users; if all are in one, the first of them by name."""
    code = sorted(found, key=lambda one: (one.name == "_", one.file, one.line))
    directories = Counter(directory_of(one.file) for one in code)
    if len(directories) == 1:
        return f", {'' if len(code) == 1 else 'such as '}{naming(code[0].qualified_name)}"
    return f", most of all {_most(directories, own)}"


def _contract_clauses(store: Store, symbol: Ref, naming: Naming) -> Iterable[str]:
    if symbol.kind == "interface":
        types = len({link.symbol.id for link in inbound(store, symbol, ("IMPLEMENTS",))})
        if types:
            yield f"{counted(types, 'type')} {'satisfies' if types == 1 else 'satisfy'} it"
    elif symbol.kind in ("struct", "type", "alias"):
        found = [link.symbol for link in outbound(store, symbol, ("IMPLEMENTS",))]
        found.sort(key=lambda one: (one.external, one.test, one.file, one.line))
        names = [name for one in found if (name := naming(one.qualified_name)) not in _NOT_NAMED]
        if names:
            yield f"it satisfies {_few(names)}"


def _file(store: Store, facts: FileFacts) -> str:
    (row,) = store.rows("MATCH (p:Package {id: $id}) RETURN p.name, p.doc", {"id": facts.package})
    package, doc = row
    if facts.test:
        tested = Counter(target.file for _, target in facts.tested)
        what = f"tests {_few([path for path, _ in _by_count(tested)])}" if tested else f"is a test of package {package}"
        return f"{facts.path} {what}."
    main = _main_of_file(store, facts)
    if main:
        purpose = f"{facts.path} has {' and '.join(f'{one.name}: “{one.doc}”' for one in main)}"
    else:
        purpose = f"{facts.path} belongs to package {package}" + (f": “{first_sentence(doc)}”" if doc else ".")
    return _sentences(purpose, _file_position(store, facts, package))


def _file_position(store: Store, facts: FileFacts, package: str) -> Iterable[str]:
    if facts.generated:
        yield f"it is generated {facts.origin}".rstrip()
    is_program = package == "main" and any(one.kind == "func" and one.name == "main" for one in facts.symbols)
    if is_program:
        yield f"it is an entry point, the program in {directory_of(facts.path)}"
    files = {use.source.file for use in facts.uses if not use.source.test}
    directories = Counter(directory_of(file) for file in files)
    if files:
        is_hub = len(directories) >= _HUB
        most = _most(directories, directory_of(facts.path))
        verb = "uses" if len(files) == 1 else "use"
        where = f"{len(directories):,} packages {verb} it, most of all {most}"
        used = f"{counted(len(files), 'file')} in {where if len(directories) > 1 else f'{most} {verb} it'}"
        yield f"it is a hub: {used}" if is_hub else used
    elif facts.uses:
        yield "its known users are tests"
    elif not is_program and not facts.candidate_calls and not facts.outside_calls and not facts.unnamed_calls:
        yield "no other file is known to use it"
    if "testing" in _externals(store, facts.path):
        yield "it is test support"
    contracts = [
        interface.short
        for kind, interface in facts.satisfies
        if interface.file
        and not interface.test
        and kind.kind != "interface"
        and directory_of(interface.file) != directory_of(facts.path)
        and interface.qualified_name not in facts.plain_interfaces
    ]
    if contracts:
        yield _adapter_clause(store, facts, list(dict.fromkeys(contracts)))
    elif files and not facts.calls:
        yield "it is a leaf: it calls no other file of the repository"


def _adapter_clause(store: Store, facts: FileFacts, contracts: Sequence[str]) -> str:
    modules = [id for id in _externals(store, facts.path) if "." in id.partition("/")[0]]
    to = f"it is an adapter to {modules[0]}: " if len(modules) == 1 else ""
    return f"{to}its types satisfy {_few(contracts)}"


def _externals(store: Store, path: str) -> list[str]:
    """The external packages that a file imports."""
    return sorted(row[0] for row in _rows(store, "MATCH (f:File {id: $id})-[:IMPORTS]->(e:External) RETURN e.id", path))


class _MainDeclaration(NamedTuple):
    name: str
    doc: str


def _main_of_file(store: Store, facts: FileFacts) -> list[_MainDeclaration]:
    """The documented declarations that a file is about: named like the file, or else used most, members included."""
    statement = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol) RETURN s.qualified_name, s.doc"
    docs: dict[str, str] = {name: doc for name, doc in store.rows(statement, {"id": facts.path}) if doc}
    counts = Counter(use.target.local.partition(".")[0] for use in facts.uses if not use.source.test)
    stem = facts.path.rpartition("/")[2].removesuffix(".go").replace("_", "").lower()

    def key(symbol: CardSymbol) -> tuple[bool, int, int]:
        weight = (1 + counts[symbol.local]) * (2 if symbol.exported else 1)
        weight *= 1 if symbol.kind in ("const", "var") else 2
        return symbol.name.lower() != stem, -weight, symbol.line

    found = [one for one in facts.symbols if one.local == one.name and one.qualified_name in docs]
    return [
        _MainDeclaration(one.local, first_sentence(docs[one.qualified_name])) for one in sorted(found, key=key)[:_MAIN]
    ]


def _package(store: Store, id: str) -> str:
    rows = list(store.rows("MATCH (p:Package {id: $id}) RETURN p.path, p.name, p.doc, p.dir", {"id": id}))
    if not rows:
        return ""
    path, name, doc, _ = rows[0]
    purpose = f"Package {name} ({path})"
    if doc:
        purpose += f": “{first_sentence(doc)}”"
    else:
        main = _main_of_package(store, id)
        quoted = " and ".join(f"{one.name}: “{one.doc}”" for one in main)
        purpose += f" has {quoted}" if main else " has no doc comment."
    return _sentences(purpose, _package_position(store, id, name))


def _package_position(store: Store, id: str, name: str) -> Iterable[str]:
    statement = "MATCH (f:File)-[:IMPORTS]->(p:Package {id: $id}) RETURN f.package, f.test"
    importers = [(package, test) for package, test in _rows(store, statement, id) if package != id]
    code = Counter(package for package, test in importers if not test)
    if name == "main":
        yield "it is an entry point, a program"
    if code:
        most, number = _by_count(code)[0]
        verb = "imports" if len(code) == 1 else "import"
        led = f", most of all {most} ({counted(number, 'file')})" if len(code) > 1 else f", {most}"
        used = f"{counted(len(code), 'package')} {verb} it{led}"
        yield f"it is a hub: {used}" if len(code) >= _HUB else used
    elif importers:
        yield "in the repository only tests import it"
    elif name != "main":
        yield "no other package of the repository imports it"
    statement = (
        "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File)-[:IMPORTS]->(q:Package) "
        "WHERE NOT f.test RETURN DISTINCT q.path"
    )
    testing = "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File)-[:IMPORTS]->(e:External) WHERE NOT f.test RETURN e.id"
    if any(row[0] == "testing" for row in _rows(store, testing, id)):
        yield "it is test support"
    needed = [row[0] for row in _rows(store, statement, id)]
    if code and not needed:
        yield "it is a leaf: it imports no other package of the repository"


def _main_of_package(store: Store, id: str) -> list[_MainDeclaration]:
    """The documented exported declarations of a package that most others use."""
    statement = (
        "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File)-[:CONTAINS]->(s:Symbol) WHERE s.exported AND NOT f.test "
        "AND s.owner = '' AND s.doc <> '' RETURN s.id, s.name, s.doc, s.kind ORDER BY s.file, s.line"
    )
    found = [row for row in _rows(store, statement, id) if row[3] in ("struct", "interface", "type", "func")]
    uses = "MATCH (s:Symbol {id: $id})<-[:CALLS|REFERENCES]-(u:Symbol) RETURN count(*)"
    counted_ones = [(_rows(store, uses, row[0])[0][0], row) for row in found[:_CONSIDERED]]
    best = sorted(counted_ones, key=lambda item: (-item[0], item[1][1]))[:_MAIN]
    return [_MainDeclaration(name, first_sentence(doc)) for _, (_, name, doc, _) in best]


def _repository(store: Store) -> str:
    modules = [name for row in store.rows("MATCH (r:Repository) RETURN r.modules") for name in row[0]]
    purpose = f"The repository of {_few(modules)}" if modules else "A repository of Go code"
    docs = [
        doc for (doc,) in store.rows("MATCH (p:Package) WHERE p.dir = '' AND p.doc <> '' RETURN p.doc ORDER BY p.id")
    ]
    sentence = first_sentence(docs[0]) if docs else _readme_sentence(store)
    purpose += f": “{sentence}”" if sentence else "."
    programs = [
        f"{directory or '.'}/"
        for (directory,) in store.rows("MATCH (p:Package) WHERE p.name = 'main' AND NOT p.test RETURN p.dir")
    ]
    programs.sort(key=lambda directory: (directory.count("/"), directory))
    position: list[str] = []
    if programs:
        noun = "its entry point is the program in" if len(programs) == 1 else "its entry points are the programs in"
        position.append(f"{noun} {_few(programs)}")
    statement = "MATCH (f:File)-[:IMPORTS]->(p:Package) WHERE NOT f.test RETURN DISTINCT p.path, f.package"
    importers = Counter(path for path, _ in store.rows(statement))
    hubs = [f"{path} ({number:,})" for path, number in _by_count(importers)[:_MAIN] if number > 1]
    if hubs:
        position.append(f"most packages import {joined(hubs)}")
    return _sentences(purpose, position)


def _readme_sentence(store: Store) -> str:
    """The first sentence of prose in the first section of the README at the root."""
    statement = "MATCH (d:Doc) WHERE lower(d.path) = 'readme.md' RETURN d.text ORDER BY d.line LIMIT 1"
    for (text,) in store.rows(statement):
        # Every second part is a block of code.
        for paragraph in "\n\n".join(text.split("```")[::2]).split("\n\n"):
            plain = paragraph.strip().replace("`", "").replace("*", "")
            if plain[:1].isalpha() and len(plain.split()) > _PROSE and "](" not in plain.partition(" ")[0]:
                return first_sentence(plain)
    return ""


def _sentences(purpose: str, position: Iterable[str]) -> str:
    """Two sentences. The quotation that ends the first one has its own full stop."""
    clauses = "; ".join(position)
    return f"{purpose} {clauses[0].upper()}{clauses[1:]}." if clauses else purpose


def _rows(store: Store, statement: str, id: str) -> list[list[Any]]:
    return list(store.rows(statement, {"id": id}))


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _most(counts: Counter[str], own: str) -> str:
    """The directory that is counted most often."""
    most = _by_count(counts)[0][0]
    return "its own package" if most == own else "the package at the root" if most == "./" else most


def _few(names: Sequence[str]) -> str:
    """The first names; all of them if only one would be left out."""
    if len(names) <= _CONTRACTS + 1:
        return joined(names)
    return f"{', '.join(names[:_CONTRACTS])} and {len(names) - _CONTRACTS:,} more"
