"""Which declarations changed, and how: two states of some files in, changes out."""

from __future__ import annotations

from collections.abc import Mapping

from golore.graph.changes.change_set import ChangeSet
from golore.learner.changes.compared_files import ComparedFiles
from golore.learner.changes.declaration_changes import compare, read_facts_pairs
from golore.learner.checkout.git_objects import FilePair
from hypothesis import given
from hypothesis import strategies as st

STORE = """package store

import "rand"

// Store keeps values.
type Store struct {
	path string
	size int
}

func Open(path string) *Store { return &Store{path: path} }

func (s *Store) Save(key string) error {
	if key == "" {
		return errEmpty
	}
	return s.write(key, rand.Int())
}

func (s *Store) write(key string, n int) error { s.size += n; return nil }
"""


def compared(before: Mapping[str, str], after: Mapping[str, str]) -> ChangeSet:
    old, new = ({path: text.encode() for path, text in side.items()} for side in (before, after))
    files = ComparedFiles(
        "old",
        "new",
        "",
        "",
        tuple(
            FilePair(path, "1" if path in old else "", "2" if path in new else "")
            for path in sorted(old | new)
            if old.get(path) != new.get(path)
        ),
        old,
        new,
    )
    return compare(files, read_facts_pairs(files, None))


def changes(before: str | Mapping[str, str], after: str | Mapping[str, str]) -> list[str]:
    """The changes as `how name`, or `how old -> new`, with the reason in brackets."""
    sides = ({"a.go": side} if isinstance(side, str) else side for side in (before, after))
    found: list[str] = []
    for change in compared(*sides).declarations:
        names = [side.local_name for side in (change.before, change.after) if side is not None]
        reason = f" ({change.reason})" if change.reason else ""
        found.append(f"{change.how} {' -> '.join(dict.fromkeys(names))}{reason}")
    return found


def test_an_edited_body_changes_only_its_function() -> None:
    assert changes(STORE, STORE.replace('key == ""', "len(key) == 0")) == ["body Store.Save"]


def test_comments_and_layout_do_not_count() -> None:
    edited = STORE.replace("// Store keeps values.", "// Store keeps all values.\n// In memory.").replace(
        "\tsize int", "\tsize  int // bytes"
    )
    edited = edited.replace('\tif key == "" {', '\t// an empty key is an error\n\tif key == "" {')
    found = compared({"a.go": STORE}, {"a.go": edited})
    assert found.declarations == ()
    assert found.untouched == 2  # the struct and Save


def test_a_parameter_is_part_of_the_signature() -> None:
    edited = STORE.replace("Open(path string)", "Open(path string, size int)")
    assert changes(STORE, edited) == ["signature Open"]


def test_a_field_changes_its_struct_too() -> None:
    assert changes(STORE, STORE.replace("\tsize int", "\tsize int64\n\tname string")) == [
        "signature Store",
        "signature Store.size",
        "added Store.name",
    ]


def test_added_and_removed_declarations_are_named() -> None:
    edited = STORE.replace("func Open(path string) *Store { return &Store{path: path} }", "const Limit = 10")
    assert changes(STORE, edited) == ["added Limit", "removed Open"]


def test_a_renamed_function_is_recognized_by_its_text() -> None:
    assert changes(STORE, STORE.replace("Save(", "Put(")) == ["renamed Store.Save -> Store.Put"]


def test_a_renamed_type_takes_its_members_along() -> None:
    edited = STORE.replace("Store", "Shop")
    assert changes(STORE, edited) == [
        "renamed Store -> Shop",
        "renamed Store.path -> Shop.path",
        "renamed Store.size -> Shop.size",
        "signature Open",
        "renamed Store.Save -> Shop.Save",
        "renamed Store.write -> Shop.write",
    ]


def test_a_short_text_is_no_proof_of_a_rename() -> None:
    before, after = "package p\n\nfunc A() int { return 1 }\n", "package p\n\nfunc B() int { return 1 }\n"
    assert changes(before, after) == ["removed A", "added B"]


def test_code_that_moves_to_another_file_or_package_is_moved() -> None:
    rest, save = STORE[: STORE.index("func (s *Store) Save")], STORE[STORE.index("func (s *Store) Save") :]
    head = 'package store\n\nimport "rand"\n\n'
    assert changes({"s/a.go": STORE}, {"s/a.go": rest, "s/b.go": head + save}) == [
        "moved Store.Save",
        "moved Store.write",
    ]
    assert changes({"s/a.go": STORE}, {"t/a.go": STORE}) == [
        "moved Store",
        "moved Store.path",
        "moved Store.size",
        "moved Open",
        "moved Store.Save",
        "moved Store.write",
    ]


def test_another_import_under_the_same_name_changes_what_names_it() -> None:
    assert changes(STORE, STORE.replace('"rand"', '"crypto/rand"')) == ["body Store.Save (imports)"]


def test_a_build_constraint_changes_everything_in_its_file() -> None:
    before = "package p\n\nfunc A() {}\n\nfunc B() {}\n"
    after = "//go:build linux\n\n" + before
    assert changes(before, after) == ["body A (build constraint)", "body B (build constraint)"]


def test_a_constant_that_shifts_in_its_group_changes() -> None:
    before = "package p\n\nconst (\n\tA = iota\n\tB\n\tC\n)\n\nconst D = 1\n"
    after = "package p\n\nconst (\n\tA = iota\n\tNew\n\tB\n\tC\n)\n\nconst D = 1\n"
    assert changes(before, after) == ["added New", "body B (iota)", "body C (iota)"]
    step = before.replace("= iota", "= iota * 10")
    assert changes(before, step) == ["body A", "body B (iota)", "body C (iota)"]


def test_a_directive_counts_and_other_comments_do_not() -> None:
    before = 'package p\n\nimport "embed"\n\n//go:embed a.txt\nvar files embed.FS\n'
    assert changes(before, before.replace("a.txt", "b.txt")) == ["body files"]
    assert changes(before, before.replace("//go:embed", "// files\n//go:embed")) == []


def test_equal_names_in_one_file_are_paired_by_their_text() -> None:
    before = "package p\n\nfunc init() { a() }\n\nfunc init() { b() }\n"
    after = "package p\n\nfunc init() { b() }\n\nfunc init() { c() }\n"
    assert changes(before, after) == ["body init"]


def test_a_value_is_the_body_of_a_variable_and_its_type_the_signature() -> None:
    before = "package p\n\nvar limit int = 10\n"
    assert changes(before, before.replace("10", "20")) == ["body limit"]
    assert changes(before, before.replace("int", "int64")) == ["signature limit"]


def test_grouping_declarations_changes_nothing() -> None:
    before = "package p\n\nvar a = 1\n\nvar b = 2\n"
    assert changes(before, "package p\n\nvar (\n\ta = 1\n\tb = 2\n)\n") == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(before: str, after: str) -> None:
    head = "package p\n\nfunc A() {}\n"
    old, new = (head + text.encode("utf-8", "replace").decode() for text in (before, after))
    assert compared({"a.go": old}, {"a.go": old}).declarations == ()
    assert isinstance(changes(old, new), list)
