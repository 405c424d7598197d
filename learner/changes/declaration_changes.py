"""Compares the declarations of two states of some files: which were added, removed, changed, moved or renamed.

Works on facts and tokens, not on lines (see `declaration_texts`), and reads no graph. Declarations are paired by name
in the same file, then by name in the same package, then by equal text: a rename is reported only if nothing but the
name differs, and never for texts so short that they are equal by chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Final, NamedTuple

from golore.graph.changes.change_set import ChangeSet, DeclarationChange, FileChange, How
from golore.graph.files.cache_db import Cache
from golore.learner.changes.compared_files import ComparedFiles
from golore.learner.changes.declaration_texts import DeclarationText, FileText, texts_of, unchanged
from golore.learner.project.content_facts import ContentFacts, facts_of

_LONG_ENOUGH: Final = 20
"""Tokens of a declaration that is recognized by its text. `func (s *Store) Close() error { return nil }` has 17."""
_NAMELESS: Final = ("_", "init")
_Pair = tuple[DeclarationText, DeclarationText]
_Key = Callable[[DeclarationText], Hashable]
_Methods = dict[tuple[str, str, str], list[DeclarationText]]
"""The methods of types, by directory, package and name."""


class FactsPair(NamedTuple):
    """The facts of a Go file in both states; None where it does not exist."""

    before: ContentFacts | None
    after: ContentFacts | None


def read_facts_pairs(compared: ComparedFiles, cache: Cache | None) -> dict[str, FactsPair]:
    """The facts of all Go files that differ, by path."""
    before, after = (facts_of(_go_files(contents), cache) for contents in (compared.before, compared.after))
    return {path: FactsPair(before.get(path), after.get(path)) for path in sorted(before.keys() | after.keys())}


def compare(compared: ComparedFiles, pairs: Mapping[str, FactsPair]) -> ChangeSet:
    """All differences between two states. `pairs` are the facts of the Go files that differ."""
    before: list[DeclarationText] = []
    after: list[DeclarationText] = []
    for path, (old, new) in sorted(pairs.items()):
        sides = _file_text(path, compared.before, old), _file_text(path, compared.after, new)
        same = unchanged(*sides)
        for texts, file, skipped in zip((before, after), sides, same, strict=True):
            texts += texts_of(file, skipped) if file is not None else ()
    matched, removed, added = _match(before, after)
    changes = [change for pair in matched if (change := _change_of(*pair)) is not None]
    changes += [DeclarationChange("removed", text.declared, None) for text in removed]
    changes += [DeclarationChange("added", None, text.declared) for text in added]
    untouched = sum(_is_untouched(old, new) for old, new in matched)
    files = tuple(FileChange(pair.path, _how(pair.before, pair.after)) for pair in compared.files)
    return ChangeSet(compared.base, compared.target, files, tuple(sorted(changes, key=_order)), untouched)


def _go_files(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in contents.items() if path.endswith(".go")}


def _file_text(path: str, contents: Mapping[str, bytes], facts: ContentFacts | None) -> FileText | None:
    return None if facts is None else FileText(path, contents[path], facts.outline)


def _how(before: str, after: str) -> str:
    return "added" if not before else "removed" if not after else "edited"


def _order(change: DeclarationChange) -> tuple[str, int, str]:
    current = change.current
    return current.file, current.line, current.local_name


def _match(
    before: list[DeclarationText], after: list[DeclarationText]
) -> tuple[list[_Pair], list[DeclarationText], list[DeclarationText]]:
    """The pairs of declarations that are the same one, and those that have no counterpart."""
    matched: list[_Pair] = []
    for key, is_repeated in (
        (_same_file_and_text, True),
        (_same_file, True),
        (_same_package, False),
    ):
        pairs, before, after = _paired(before, after, key, key, is_repeated=is_repeated)
        matched += pairs
    methods = _methods(before), _methods(after)
    for with_methods in (True, False):
        keys = [partial(_same_type_text, methods=known if with_methods else {}) for known in methods]
        pairs, before, after = _paired(before, after, *keys)
        matched += pairs
    places = {_type_place(old): new for old, new in matched if _is_type(old)}
    pairs, before, after = _paired(before, after, lambda text: _new_place(text, places), _place)
    matched += pairs
    for key in (_same_text_and_name, _same_text):
        pairs, before, after = _paired(before, after, key, key)
        matched += pairs
    moved_files = _moved_files(matched)
    pairs, before, after = _paired(before, after, lambda text: _in_moved_file(text, moved_files), _same_file)
    return matched + pairs, before, after


def _moved_files(matched: list[_Pair]) -> dict[str, str]:
    """Files of which declarations were recognized in another file: the one that has most of them."""
    counts = Counter((old.declared.file, new.declared.file) for old, new in matched)
    targets = {old: new for (old, new), _ in sorted(counts.items(), key=lambda item: item[1])}
    return {old: new for old, new in targets.items() if old != new}


def _in_moved_file(text: DeclarationText, moved: Mapping[str, str]) -> Hashable:
    file = moved.get(text.declared.file)
    return (file, text.declared.owner, text.declared.name) if file else None


def _paired(
    before: list[DeclarationText],
    after: list[DeclarationText],
    key_before: _Key,
    key_after: _Key,
    *,
    is_repeated: bool = False,
) -> tuple[list[_Pair], list[DeclarationText], list[DeclarationText]]:
    """Pair what has the same key, in order. Without `is_repeated`, only keys that occur once on each side count."""
    keys = [key_before(text) for text in before], [key_after(text) for text in after]
    counts = Counter(keys[0]), Counter(keys[1])
    waiting: defaultdict[Hashable, list[DeclarationText]] = defaultdict(list)
    for key, text in zip(keys[1], after, strict=True):
        if key is not None and (is_repeated or counts[0][key] == counts[1][key] == 1):
            waiting[key].append(text)
    pairs: list[_Pair] = []
    left: list[DeclarationText] = []
    for key, text in zip(keys[0], before, strict=True):
        if waiting.get(key):
            pairs.append((text, waiting[key].pop(0)))
        else:
            left.append(text)
    taken = {id(new) for _, new in pairs}
    return pairs, left, [text for text in after if id(text) not in taken]


def _same_file_and_text(text: DeclarationText) -> Hashable:
    """For the unchanged ones among those that share a name: `init`, `_`, and broken code."""
    return (text.declared.file, text.declared.owner, text.declared.name, text.own)


def _same_file(text: DeclarationText) -> Hashable:
    return (text.declared.file, text.declared.owner, text.declared.name)


def _same_package(text: DeclarationText) -> Hashable:
    return None if text.declared.name in _NAMELESS else _place(text)


def _same_type_text(text: DeclarationText, methods: _Methods) -> Hashable:
    """The text of a type with its methods: together they are long enough more often."""
    if not _is_type(text):
        return None
    own = methods.get(_type_place(text), [])
    if text.tokens + sum(method.tokens for method in own) < _LONG_ENOUGH:
        return None
    return (text.declared.kind, text.masked, frozenset((method.declared.name, method.masked) for method in own))


def _methods(texts: list[DeclarationText]) -> _Methods:
    found: _Methods = defaultdict(list)
    for text in texts:
        if text.declared.kind == "method":
            found[text.declared.directory, text.declared.package, text.declared.owner].append(text)
    return found


def _same_text_and_name(text: DeclarationText) -> Hashable:
    return (text.declared.local_name, text.own) if _is_recognizable(text) else None


def _same_text(text: DeclarationText) -> Hashable:
    return (text.declared.kind, text.masked) if _is_recognizable(text) else None


def _place(text: DeclarationText) -> tuple[str, str, str, str]:
    declared = text.declared
    return (declared.directory, declared.package, declared.owner, declared.name)


def _type_place(text: DeclarationText) -> tuple[str, str, str]:
    return (text.declared.directory, text.declared.package, text.declared.name)


def _new_place(text: DeclarationText, types: Mapping[tuple[str, str, str], DeclarationText]) -> Hashable:
    """Where a method or field is now, if its type was moved or renamed."""
    declared = text.declared
    base, dot, nested = declared.owner.partition(".")
    new = types.get((declared.directory, declared.package, base))
    if not base or new is None:
        return None
    return (new.declared.directory, new.declared.package, f"{new.declared.name}{dot}{nested}", declared.name)


def _is_recognizable(text: DeclarationText) -> bool:
    return text.tokens >= _LONG_ENOUGH and text.declared.name not in _NAMELESS


def _is_type(text: DeclarationText) -> bool:
    return text.declared.kind in ("struct", "interface", "type", "alias")


def _change_of(old: DeclarationText, new: DeclarationText) -> DeclarationChange | None:
    """How the two states of a declaration differ; None if they do not."""
    reason = next(
        (reason for (reason, one), (_, other) in zip(old.context, new.context, strict=True) if one != other), ""
    )
    is_renamed = old.declared.local_name != new.declared.local_name
    how: How
    if (old.masked if is_renamed else old.own) == (new.masked if is_renamed else new.own):
        is_moved = old.declared.file != new.declared.file
        if not is_renamed and not is_moved and not reason:
            return None
        how = "renamed" if is_renamed else "moved" if is_moved else "body"
    else:
        how, reason = "body" if old.visible == new.visible else "signature", ""
    return DeclarationChange(how, old.declared, new.declared, reason)


def _is_untouched(old: DeclarationText, new: DeclarationText) -> bool:
    return old.text != new.text and old.declared.kind not in ("field", "imethod") and _change_of(old, new) is None
