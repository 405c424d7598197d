"""Facts of the graph about a declaration, a file, a package or the repository, as sentences for the prompts of models.

They list what it declares, what depends on it and what it depends on. People and agents get `composed_summaries`
instead, which say what code is for and leave inventories out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from golore.graph.database.store import Store
from golore.graph.model.entities import REPOSITORY_ID
from golore.graph.phrases import counted, joined, listed
from golore.graph.queries.answers import Answer, Link, Meaning, Ref
from golore.graph.queries.edges import inbound, members, outbound, symbols
from golore.graph.queries.file_facts import CardSymbol, FileFacts
from golore.graph.queries.names.short_names import Naming, ShortNames
from golore.graph.queries.questions import users
from golore.graph.queries.single_file import SingleFile

_FEW: Final = 3
_SEVERAL: Final = 5
_MAX_SENTENCE: Final = 240
NOUNS: Final = {
    "func": "function",
    "imethod": "interface method",
    "struct": "struct type",
    "const": "constant",
    "var": "variable",
    "alias": "type alias",
}


def surrounding_facts(store: Store, level: str, subject: str) -> str:
    """The facts about a symbol, file, package or the repository; empty if the graph does not have it."""
    if level == "symbol":
        return _symbol(store, subject)
    if level == "file":
        facts = SingleFile(store).facts(subject)
        return _file(store, facts) if facts is not None else ""
    if level == "package":
        return _package(store, subject)
    return _repository(store) if subject == REPOSITORY_ID else ""


def _symbol(store: Store, id: str) -> str:
    naming = ShortNames(store)
    found = symbols(store, [id])
    if not found:
        return ""
    symbol = found[0]
    rows = store.rows("MATCH (s:Symbol {id: $id}) RETURN s.doc, s.signature, s.deprecated", {"id": id})
    doc, signature, is_deprecated = next(iter(rows))
    noun = NOUNS.get(symbol.kind, symbol.kind)
    first = f"{naming(symbol.qualified_name)} is {article(noun)} {noun} in {symbol.file}"
    sentences = [first + (f": “{first_sentence(doc)}”" if doc else f", declared as `{signature}`.")]
    if is_deprecated:
        sentences.append("It is marked as deprecated.")
    answer = users(store, Meaning(symbol.qualified_name, (symbol,)))
    sentences += _users(answer, naming)
    called = [link.symbol for link in outbound(store, symbol, ("CALLS",))]
    if called:
        sentences.append(f"It calls {named(_names(called, naming), _SEVERAL)}.")
    if symbol.kind in ("struct", "interface", "type", "alias"):
        sentences += _type(store, symbol, naming)
    tests = sorted({link.symbol.name for link in inbound(store, symbol, ("TESTS",))})
    if tests:
        sentences.append(f"Tests reach it from {named(tests, _FEW)}.")
    elif symbol.kind in ("func", "method") and not symbol.test and not may_be_tested(answer):
        sentences.append("No test is known to call it.")
    return " ".join(sentences)


def _type(store: Store, symbol: Ref, naming: Naming) -> Iterable[str]:
    own = members(store, symbol.id)
    methods = [member.name for member in own if member.kind in ("method", "imethod")]
    fields = sum(1 for member in own if member.kind == "field")
    has = [counted(fields, "field")] if fields else []
    has += [f"{counted(len(methods), 'method')} ({named(methods, _SEVERAL)})"] if methods else []
    if has:
        yield f"It has {' and '.join(has)}."
    satisfied = [link.symbol for link in outbound(store, symbol, ("IMPLEMENTS",))]
    if satisfied:
        yield f"It satisfies {named(_names(satisfied, naming), _SEVERAL)}."
    satisfying = [link.symbol for link in inbound(store, symbol, ("IMPLEMENTS",))]
    if satisfying:
        verb = _verb(satisfying, "satisfies", "satisfy")
        yield f"{counted(len(satisfying), 'type')} {verb} it: {named(_names(satisfying, naming), _FEW)}."


def is_open(answer: Answer) -> bool:
    """Whether there may be further users: through interfaces, or among the unresolved uses of the name."""
    return bool(answer.candidates or answer.by_shape or answer.unresolved.outside or answer.unresolved.sites)


def may_be_tested(answer: Answer) -> bool:
    return is_open(answer) or any(link.symbol.test for link in answer.resolved)


def _users(answer: Answer, naming: Naming) -> Iterable[str]:
    links = answer.resolved
    code = {link.symbol.id: link.symbol for link in links if not link.symbol.test}
    if code:
        yield _known_users(links, code, naming)
    elif not is_open(answer):
        yield "Only tests use it." if links else "No use of it is known."
    elif links:
        yield "Its known users are tests."
    candidates = {link.symbol.id: link.symbol for link in answer.candidates if not link.symbol.test}
    if candidates:
        number = counted(len(candidates), "other declaration" if code else "declaration")
        yield f"{number} may call it through interfaces: {named(_names(candidates.values(), naming), _FEW)}."
    if answer.unresolved.outside:
        yield f"It may be called from outside the repository through {named(answer.unresolved.outside, _FEW)}."
    if answer.unresolved.sites:
        verb = "has" if answer.unresolved.sites == 1 else "have"
        yield f"{counted(answer.unresolved.sites, 'unresolved use')} {verb} its name."


def _known_users(links: Sequence[Link], code: Mapping[str, Ref], naming: Naming) -> str:
    files = len({symbol.file for symbol in code.values()})
    callers = {link.symbol.id for link in links if link.how == "calls" and not link.symbol.test}
    noun = "caller" if callers == set(code) else "user"
    where = f" in {counted(files, 'file')}" if files > 1 else ""
    return f"It has {counted(len(code), noun)}{where}: {named(_names(code.values(), naming), _FEW)}."


def _file(store: Store, facts: FileFacts) -> str:
    kinds: defaultdict[str, list[CardSymbol]] = defaultdict(list)
    for symbol in facts.symbols:
        if symbol.kind not in ("field", "imethod") and symbol.name != "_":
            kinds[symbol.kind].append(symbol)
    declared = [
        f"{counted(len(found), NOUNS.get(kind, kind))} ({named([one.local for one in found], _FEW)})"
        for kind, found in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    package = next(
        (name for (name,) in store.rows("MATCH (p:Package {id: $id}) RETURN p.name", {"id": facts.package})), ""
    )
    what = "test file" if facts.test else "generated file" if facts.generated else "file"
    sentences = [f"{facts.path} is {article(what)} {what} of package {package}"]
    sentences[0] += f" that declares {joined(declared[:_SEVERAL])}." if declared else " without declarations."
    files = sorted({use.source.file for use in facts.uses if not use.source.test})
    if files:
        use_counts = Counter(
            use.target.local for use in facts.uses if not use.source.test and use.target.kind != "field"
        )
        names = [name for name, _ in sorted(use_counts.items(), key=lambda item: (-item[1], item[0]))]
        most_used = f", most of all {named(names, _FEW)}" if names else ""
        verb = "uses" if len(files) == 1 else "use"
        sentences.append(f"{counted(len(files), 'other file')} {verb} it ({named(files, _FEW)}){most_used}.")
    elif not facts.test and not facts.candidate_calls and not facts.outside_calls and not facts.unnamed_calls:
        sentences.append("No other file is known to use it.")
    interfaces = sorted({interface.short for _, interface in facts.satisfies if interface.short != "error"})
    if interfaces:
        sentences.append(f"Its types satisfy {named(interfaces, _FEW)}.")
    types = {kind for _, kind in facts.satisfied if kind.file != facts.path}
    if types:
        sentences.append(f"Its interfaces are satisfied by {counted(len(types), 'type')} elsewhere.")
    calls = [path for path, _ in sorted(facts.calls.items(), key=lambda item: (-item[1], item[0]))]
    if calls:
        sentences.append(f"It calls into {named(calls, _FEW)}.")
    tests = sorted({test.file for test, _ in facts.tests})
    if tests:
        sentences.append(f"It is tested from {named(tests, _FEW)}.")
    return " ".join(sentences)


def _package(store: Store, id: str) -> str:
    rows = list(store.rows("MATCH (p:Package {id: $id}) RETURN p.path, p.name, p.doc, p.dir", {"id": id}))
    if not rows:
        return ""
    path, name, doc, directory = rows[0]
    files = [
        row[0]
        for row in _rows(store, "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File) WHERE NOT f.test RETURN f.id", id)
    ]
    sentences = [f"Package {name} ({path}) has {counted(len(files), 'file')} in {directory or 'the root'}"]
    sentences[0] += f": “{first_sentence(doc)}”" if doc else "."
    importers = _rows(
        store, "MATCH (f:File)-[:IMPORTS]->(p:Package {id: $id}) WHERE NOT f.test RETURN DISTINCT f.package", id
    )
    others = sorted(row[0] for row in importers if row[0] != id)
    if others:
        verb = _verb(others, "imports", "import")
        sentences.append(f"{counted(len(others), 'package')} {verb} it: {named(others, _FEW)}.")
    elif name == "main":
        sentences.append("It is a program.")
    else:
        sentences.append("No other package of the repository imports it.")
    exported = _exported(store, files)
    if exported:
        sentences.append(f"It exports {counted(len(exported), 'declaration')}, among them {named(exported, _SEVERAL)}.")
    needed = _rows(
        store,
        "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File)-[:IMPORTS]->(q:Package) "
        "WHERE NOT f.test RETURN DISTINCT q.path",
        id,
    )
    if needed:
        sentences.append(f"It is built on {named(sorted(row[0] for row in needed), _FEW)}.")
    return " ".join(sentences)


def _exported(store: Store, files: Iterable[str]) -> list[str]:
    statement = "MATCH (f:File {id: $id})-[:CONTAINS]->(s:Symbol) WHERE s.exported RETURN s.name, s.kind"
    found = {row[0] for path in files for row in _rows(store, statement, path) if row[1] != "method"}
    return sorted(found)


def _repository(store: Store) -> str:
    modules = [name for row in store.rows("MATCH (r:Repository) RETURN r.modules") for name in row[0]]
    packages = next(iter(store.rows("MATCH (p:Package) WHERE NOT p.test RETURN count(*)")))[0]
    files, lines = next(iter(store.rows("MATCH (f:File) RETURN count(*), sum(f.lines)")))
    programs = [
        row[0]
        for row in store.rows("MATCH (p:Package) WHERE p.name = 'main' AND NOT p.test RETURN p.path ORDER BY p.path")
    ]
    noun = "module" if len(modules) == 1 else "modules"
    size = f"{counted(packages, 'package')}, {counted(files, 'file')} and {counted(int(lines or 0), 'line')} of Go"
    sentences = [f"The {noun} {named(modules, _FEW)} {_verb(modules, 'has', 'have')} {size}."]
    if programs:
        verb = _verb(programs, "is a program", "are programs")
        sentences.append(f"{counted(len(programs), 'package')} {verb}: {named(programs, _FEW)}.")
    return " ".join(sentences)


def _rows(store: Store, statement: str, id: str) -> list[list[Any]]:
    return list(store.rows(statement, {"id": id}))


def first_sentence(doc: str) -> str:
    """The first sentence of a comment, on one line, cut at 240 characters."""
    text = " ".join(doc.split("\n\n", 1)[0].split())
    end = text.find(". ")
    text = text[: end + 1] if end >= 0 else text
    return text if len(text) <= _MAX_SENTENCE else f"{text[: _MAX_SENTENCE - 1].rstrip()}…"


def _names(found: Iterable[Ref], naming: Naming) -> list[str]:
    ordered = sorted(found, key=lambda one: (one.external, one.test, one.file, one.line))
    return list(dict.fromkeys(naming(one.qualified_name) for one in ordered))


def named(names: Sequence[str], most: int) -> str:
    """Like `listed`, but with all names if only one would be left out."""
    return listed(names, most) if len(names) > most + 1 else joined(names)


def article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"


def _verb(many: Sequence[object], one: str, several: str) -> str:
    return one if len(many) == 1 else several
