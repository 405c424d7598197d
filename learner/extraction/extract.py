"""Extracts the facts of one file from its bytes: what it declares, what other files see of it, the code of its bodies.

A pure function of the bytes: it reads no files and no clock. Broken Go gives the facts that can be read, and problems.
The file name is not an input, so the project model adds what follows from it (`_test.go`, `_linux.go`). Names are not
looked up; resolution does that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

from golore.learner.extraction import facts as f
from golore.learner.extraction import node_kinds as g
from golore.learner.extraction.declarations import Declarations, flattened
from golore.learner.extraction.doc_comments import is_generated, origin_of
from golore.learner.extraction.newer_syntax import Receiver, rewrites, with_new_renamed
from golore.learner.extraction.parser import Node, Tree, parse, top_level
from golore.learner.extraction.skeleton import find_cuts
from golore.learner.extraction.token_encoder import CannotEncode
from golore.learner.extraction.tree_encoder import line_starts
from golore.learner.go_rules.build_constraints import file_constraint

MAX_PROBLEMS: Final = 5
MAX_REWRITES: Final = 8
_BOM: Final = b"\xef\xbb\xbf"


def extract(source: bytes, bodies: bool = True) -> f.Facts:
    """Return the facts of one Go file, without the code of bodies if `bodies` is false. Never raises on bad input."""
    declarations = _read(source, bodies)
    shape = _shape(declarations)
    return f.Facts(_outline(declarations, shape), shape, _body(declarations))


def extract_shape(source: bytes) -> f.Shape:
    """Return only the shape of a file: for code outside the repository, whose bodies are not resolved."""
    return _shape(_read(source, False, False))


def encode(facts: f.Facts) -> f.EncodedFacts:
    return f.EncodedFacts(f.encode(facts.outline), f.encode(facts.shape), f.encode(facts.body))


def _read(source: bytes, bodies: bool, outline: bool = True) -> Declarations:
    if source.startswith(_BOM):
        source = b"   " + source[3:]
    try:
        declarations = read_from_tokens(source, bodies, outline=outline)
    except CannotEncode:
        declarations = read_from_tree(source, bodies, outline)
    if not declarations.package:
        declarations.problems.append(f.LineProblem(1, "no package clause"))
    return declarations


def read_from_tokens(source: bytes, bodies: bool, names: Iterable[bytes] = (), outline: bool = True) -> Declarations:
    """Read a file of plain Go: its declarations from the tree of its skeleton, its bodies from their tokens.

    Raises `CannotEncode` if the file is not plain Go. `names` are numbered before the names in bodies, which are
    otherwise numbered in the order in which they are encoded.
    """
    cuts = find_cuts(source)
    tree = parse(source, cuts)
    if tree.root_node.has_error:
        renamed = with_new_renamed(source)
        if renamed is not source:
            tree = parse(renamed, cuts)
        if tree.root_node.has_error:
            raise CannotEncode
    declarations = Declarations(source, {}, outline)
    declarations.declare(top_level(tree))
    if not declarations.covers(cuts):
        raise CannotEncode
    declarations.finish_shape()
    for name in names:
        declarations.encoder.intern(name)
    if bodies:
        declarations.encode_bodies_from_tokens()
    if declarations.encoder.too_deep:
        raise CannotEncode
    return declarations


def read_from_tree(source: bytes, bodies: bool, outline: bool = True) -> Declarations:
    """Read any file, also a broken one, from the syntax tree of the whole file."""
    tree = parse(with_new_renamed(source))
    receivers: dict[int, Receiver] = {}
    if tree.root_node.has_error:
        tree, receivers = _read_newer(source, tree)
    declarations = Declarations(source, receivers, outline)
    if tree.root_node.has_error:
        declarations.problems += _syntax_problems(source, tree.root_node, declarations)
        declarations.declare(flattened(tree.root_node))
    else:
        declarations.declare(top_level(tree))
    declarations.finish_shape()
    if bodies:
        declarations.encode_bodies_from_tree()
    if declarations.encoder.too_deep:
        declarations.problems.append(f.LineProblem(1, "nested too deeply: the innermost parts were not read"))
    return declarations


def _read_newer(source: bytes, tree: Tree) -> tuple[Tree, dict[int, Receiver]]:
    """Apply the rewrites of `newer_syntax` that reduce the broken part of a file. Returns the resulting tree."""
    starts = line_starts(source)
    damage = _damage(tree.root_node, starts)
    receivers: dict[int, Receiver] = {}
    for _ in range(MAX_REWRITES):
        for rewritten in rewrites(source, damage.lines, starts):
            if rewritten.source == source:
                continue
            new_tree = parse(rewritten.source)
            new_damage = _damage(new_tree.root_node, starts)
            if new_damage.bytes < damage.bytes:
                source, tree, damage = rewritten.source, new_tree, new_damage
                receivers.update(rewritten.receivers)
                break
        else:
            break
        if not damage.bytes:
            break
    return tree, receivers


class _Damage(NamedTuple):
    """How many bytes of a file do not parse, and the lines where the broken parts begin and end."""

    bytes: int
    lines: set[int]


def _damage(root: Node, starts: list[int]) -> _Damage:
    size = 0
    lines: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node.kind_id == g.ERROR or node.is_missing:
            start = node.start_byte
            end = node.end_byte
            size += end - start + 1
            lines.add(bisect_right(starts, start))
            lines.add(bisect_right(starts, max(start, end - 1)))
        pending += [child for child in node.children if child.has_error or child.is_missing]
    return _Damage(size, lines)


def _syntax_problems(source: bytes, root: Node, declarations: Declarations) -> list[f.LineProblem]:
    """Return up to `MAX_PROBLEMS` problems, one for each outermost error of the tree.

    A missing unnamed token, such as a line end, is not a problem: the grammar misses some of them in valid code.
    """
    found: list[f.LineProblem] = []
    pending = [root]
    while pending and len(found) < MAX_PROBLEMS:
        node = pending.pop()
        start = node.start_byte
        if node.kind_id == g.ERROR:
            near = source[start : start + 40].split(b"\n")[0].decode("utf-8", "replace").strip()
            found.append(f.LineProblem(declarations.encoder.line_of(start), f"does not parse near {near!r}"))
        elif node.is_missing:
            if node.is_named:
                found.append(f.LineProblem(declarations.encoder.line_of(start), f"missing {node.type}"))
        else:
            pending += [child for child in reversed(node.children) if child.has_error or child.is_missing]
    return found


def _shape(declarations: Declarations) -> f.Shape:
    header = declarations.source[: declarations.header_end]
    return f.Shape(
        declarations.package,
        file_constraint("x.go", header) if b"build" in header else "",
        any(imported.path == "C" for imported in declarations.imports),
        tuple(declarations.imports),
        tuple(declarations.decls),
        tuple(declarations.encoder.names[: declarations.shape_names]),
        f.pack(declarations.shape_code),
    )


def _outline(declarations: Declarations, shape: f.Shape) -> f.Outline:
    source = declarations.source
    header = source[: declarations.header_end]
    is_marked = is_generated(header)
    return f.Outline(
        declarations.package,
        declarations.doc,
        shape.constraint,
        shape.imports,
        tuple(declarations.import_lines),
        tuple(declarations.symbols),
        len(declarations.encoder.line_starts) - (1 if not source or source.endswith(b"\n") else 0),
        is_marked,
        shape.cgo,
        blake2b(f.encode(shape), digest_size=16).hexdigest(),
        tuple(declarations.problems),
        origin_of(header) if is_marked else "",
    )


def _body(declarations: Declarations) -> f.Body:
    encoder = declarations.encoder
    return f.Body(
        tuple(encoder.names[declarations.shape_names :]),
        f.pack(encoder.code),
        f.pack(encoder.lines),
        f.pack(declarations.decl_lines),
        tuple(declarations.entries),
    )
