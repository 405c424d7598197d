"""Resolves one file: what each of its declarations calls, refers to and embeds, and which uses stay unresolved.

Works on a package that the world has loaded. `implements` and `learner.pipeline` (`test_edges`, `graph_rows`) make the
IMPLEMENTS edges, the TESTS edges and the rows of the graph.
"""

from __future__ import annotations

from typing import NamedTuple

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.resolution.statements import Evaluator
from golore.learner.resolution.types import (
    Declaration,
    FileScope,
    Func,
    GenericAlias,
    Interface,
    Named,
    Pointer,
    Struct,
    Tuple,
    Type,
    TypeParam,
    Unknown,
)
from golore.learner.resolution.use_recorder import UseRecorder
from golore.learner.resolution.world import World


class DeclarationUses(NamedTuple):
    """The uses of one declaration, with their lines by target id. An unresolved use is (name, reason, candidate)."""

    source: str
    line: int
    calls: dict[str, list[int]]
    references: dict[str, list[int]]
    fields: dict[str, list[int]]
    """Uses of fields as numbers (see `UseRecorder`)."""
    invoked: dict[str, list[int]]
    """Calls and values of methods of interfaces without a symbol (see `use_recorder.interface_text`)."""
    unresolved: dict[tuple[str, str, str], list[int]]
    embeds: list[tuple[str, bool]]
    conversions: dict[str, set[str]]
    """Conversions to interfaces: id of the source → ids of the targets (see `conversions`)."""
    conditions: dict[str, set[str]]
    """What is used only under conditions, with these (see `UseRecorder.finish`)."""
    sets: set[str]
    """The package variables that it may change."""


class FileUses(NamedTuple):
    uses: list[DeclarationUses]
    externals: dict[str, tuple[str, str, str]]
    """Kind, name and package of external declarations, by id."""
    interface_calls: set[str]
    """The ids of called interface methods."""
    problems: list[str]


def resolve_file(world: World, file: FileScope, body: f.Body) -> FileUses:
    """Resolve every declaration of a file. A declaration that fails gives a complaint and the uses found so far."""
    recorder = UseRecorder()
    shape_lines = f.unpack(body.shape_lines)
    decl_lines = f.unpack(body.decl_lines)
    code = f.unpack(body.code)
    names = file.names + list(body.names)
    entries: dict[int, list[f.BodyEntry]] = {}
    for entry in body.entries:
        entries.setdefault(entry.decl, []).append(entry)
    found: list[DeclarationUses] = []
    complaints: list[str] = []
    for decl in file.decls:
        recorder.start()
        evaluator = Evaluator(world, file, recorder)
        evaluator.lines = shape_lines
        evaluator.names = names
        try:
            _declaration(world, decl, evaluator, code, entries.get(decl.ordinal, []))
        except RecursionError:
            complaints.append(f"{decl.id}: nested too deeply to resolve all of it")
        except Exception as failure:  # noqa: BLE001  invalid Go must not abort the learn
            complaints.append(f"{decl.id}: could not be resolved ({failure!r})")
        conditions = recorder.finish()
        found.append(
            DeclarationUses(
                decl.id,
                decl_lines[decl.ordinal],
                recorder.calls,
                recorder.references,
                recorder.fields,
                recorder.invoked,
                recorder.unresolved,
                _embeds(world, decl, recorder),
                evaluator.conversions.found,
                conditions,
                recorder.sets,
            )
        )
    return FileUses(found, recorder.externals, recorder.dynamic, complaints)


def _declaration(
    world: World, decl: Declaration, evaluator: Evaluator, code: list[int], entries: list[f.BodyEntry]
) -> None:
    kind = decl.kind
    facts = decl.facts
    if kind == f.FUNC or kind == f.METHOD:
        _function(world, decl, evaluator, code, entries)
        return
    if kind == f.TYPE or kind == f.ALIAS:
        evaluator.at = facts.at
        _bind_parameters(world, decl, evaluator)
        evaluator.type()
        return
    declared: Type | None = None
    if facts.at >= 0:
        evaluator.at = facts.at
        declared = evaluator.type()
    if kind == f.VAR:
        evaluator.initialised = evaluator.stored_in = decl.id
    for entry in entries:
        if facts.at < 0 and code[entry.at + 1] == c.COMPOSITE:
            evaluator.code = code
            evaluator.at = entry.at
            evaluator.own_struct(decl, 4)
        value = _value(evaluator, code, entry.at)
        if declared is not None and decl.name != "_":
            for type in value.types if isinstance(value, Tuple) else [value]:
                evaluator.convert(type, declared)


def _function(
    world: World, decl: Declaration, evaluator: Evaluator, code: list[int], entries: list[f.BodyEntry]
) -> None:
    evaluator.open()
    if decl.kind == f.METHOD:
        base = world.bind_receiver(decl, evaluator)
        if entries:
            # In its own methods, a generic type is not instantiated: its parameters are bound above.
            evaluator.bind(evaluator.names[entries[0].receiver], Pointer(base) if decl.pointer else base)
    evaluator.at = decl.facts.at
    _bind_parameters(world, decl, evaluator)
    evaluator.results = evaluator.signature(True).results
    for entry in entries:
        _run(evaluator, code, entry.at)


def _bind_parameters(world: World, decl: Declaration, evaluator: Evaluator) -> None:
    """Bind the type parameters of a declaration to the objects that its type has."""
    if evaluator.code[evaluator.at] == 0:
        evaluator.at += 1
        return
    known: list[TypeParam] = []
    type = world.type_of(decl)
    if isinstance(type, Func):
        known = type.type_params
    elif isinstance(type, (Named, GenericAlias)):
        known = type.params
    evaluator.type_parameters(decl.id, known)


def _run(evaluator: Evaluator, code: list[int], at: int) -> None:
    evaluator.code = code
    evaluator.in_shape = False
    evaluator.at = at
    evaluator.statements()


def _value(evaluator: Evaluator, code: list[int], at: int) -> Type:
    """Evaluate the value of a package-level variable or constant."""
    evaluator.code = code
    evaluator.in_shape = False
    evaluator.at = at + 1
    return evaluator.expression()


def _embeds(world: World, decl: Declaration, recorder: UseRecorder) -> list[tuple[str, bool]]:
    """Return the ids of the named types that a type embeds, each with whether it is embedded as a pointer."""
    if decl.kind != f.TYPE:
        return []
    type = world.type_of(decl)
    if not isinstance(type, Named):
        return []
    under = world.underlying(type)
    embedded: list[Type] = []
    if isinstance(under, Struct):
        embedded = [field.type for field in under.fields if field.embedded]
    elif isinstance(under, Interface):
        embedded = under.embeds
    found: list[tuple[str, bool]] = []
    for part in embedded:
        pointer = isinstance(part, Pointer)
        base = part.elem if isinstance(part, Pointer) else part
        if isinstance(base, Named) and base.decl.id and base.decl.file.package.path:
            found.append((base.decl.id, pointer))
            recorder.record_external(base.decl)
        elif isinstance(base, Unknown) and base.name:
            target = f"{base.package}.{base.name}"
            found.append((target, pointer))
            recorder.record_missing_external(target, base.name, base.package)
    return found
