"""Notes follow their code, say when it has changed, and stand at what is left of it; nothing is guessed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from golore.graph.knowledge.code_fingerprint import fingerprint
from golore.graph.knowledge.notes import DRIFTED
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.note_repository import Bank, make_bank

TEXT = "Amounts are never negative: refunds are postings of their own."
POSTED = "example.com/bank/ledger.Post"
REPORT = "example.com/bank/ledger.Report"


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_bank(tmp_path_factory.mktemp("following") / "bank")
    assert main(["learn", str(root), "--workers", "0"]) == 0
    return root


@pytest.fixture
def bank(learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bank:
    return Bank(copy_repository(learned, tmp_path / "bank"), capsys)


def test_only_what_changes_the_code_marks_a_note(bank: Bank) -> None:
    bank.pin("symbol", POSTED, "note", TEXT)
    bank.edit("ledger/ledger.go", "	if amount < 0 {\n", "\n	if  amount<0  {\n\n")
    bank.edit("ledger/ledger.go", "// Post adds an amount.", "// Post adds an amount, and more.\n//\n// It may panic.")
    bank.edit("ledger/ledger.go", "sum: 0", "sum: 1")
    bank.learn()
    assert bank.only()["drifted"] == ""
    bank.edit("ledger/ledger.go", "l.sum += amount", "l.sum -= amount")
    bank.learn()
    assert bank.only()["drifted"] == DRIFTED


@pytest.mark.slow
def test_a_note_follows_a_method_whose_type_is_renamed_and_a_package_that_moves(bank: Bank) -> None:
    bank.edit(
        "ledger/report.go",
        "func Report(l *Ledger) int { return l.sum }",
        "func (l *Ledger) Report() int { return l.sum }",
    )
    bank.learn()
    bank.note("Ledger.Report", "Sums are exact.")
    bank.note("ledger/report.go", "About a file.")
    bank.note("ledger/", "About a package.")
    bank.edit("ledger/ledger.go", "Ledger", "Book")
    bank.edit("ledger/report.go", "Ledger", "Book")
    bank.learn()
    named = {note["text"]: note["describes"]["name"] for note in bank.notes()}
    assert named["Sums are exact."] == "example.com/bank/ledger.Book.Report"
    for note in bank.notes():
        bank.run("note", "--confirm", note["id"])
    (bank.root / "ledger").rename(bank.root / "accounts")
    bank.learn()
    named = {note["text"]: (note["describes"]["name"], note["drifted"]) for note in bank.notes()}
    assert named == {
        "Sums are exact.": ("example.com/bank/accounts.Book.Report", ""),
        "About a file.": ("accounts/report.go", ""),
        "About a package.": ("example.com/bank/accounts", ""),
    }


def test_notes_of_deleted_code_move_up_and_say_so_and_go_home_when_it_comes_back(bank: Bank) -> None:
    bank.pin("symbol", REPORT, "incident", "It is called at night.")
    text = (bank.root / "ledger/report.go").read_text()
    gone = "was about example.com/bank/ledger.Report, which is gone"
    (bank.root / "ledger/report.go").write_text("package ledger\n")
    bank.learn()
    assert f"incident, {gone} (" in bank.card("ledger/report.go")
    assert bank.described() == [("It is called at night.", "ledger/report.go", gone)]
    (bank.root / "ledger/report.go").unlink()
    bank.learn()
    assert gone in bank.card("ledger/")
    assert bank.described() == [("It is called at night.", "example.com/bank/ledger", gone)]
    shutil.move(bank.root / "ledger", bank.root.parent / "aside")
    bank.learn()
    assert gone in bank.card("")
    assert bank.described() == [("It is called at night.", ".", gone)]
    shutil.move(bank.root.parent / "aside", bank.root / "ledger")
    (bank.root / "ledger/report.go").write_text(text)
    bank.learn()
    assert bank.described() == [("It is called at night.", "example.com/bank/ledger.Report", "")]
    assert "incident on ledger.Report (" in bank.card("ledger/report.go")
    assert "which is gone" not in bank.card("") + bank.card("ledger/")


def test_a_note_that_was_confirmed_on_a_branch_goes_home_with_the_code(bank: Bank) -> None:
    bank.pin("symbol", REPORT, "incident", "It is called at night.")
    text = (bank.root / "ledger/report.go").read_text()
    (bank.root / "ledger/report.go").write_text(text.replace("func Report", "func Tell"))
    bank.learn()
    assert bank.described() == [("It is called at night.", "example.com/bank/ledger.Tell", "")]
    bank.edit("ledger/report.go", "return l.sum }", "l.sum++; return 2 * l.sum }")
    bank.learn()
    bank.run("note", "--confirm", bank.only()["id"])
    assert bank.only()["drifted"] == ""
    (bank.root / "ledger/report.go").write_text(text)  # as git stash does
    bank.learn()
    assert bank.described() == [("It is called at night.", "example.com/bank/ledger.Report", "")]


def test_where_two_have_the_same_body_none_is_taken_for_the_one_that_is_gone(bank: Bank) -> None:
    bank.pin("symbol", REPORT, "note", "It is called at night.")
    twice = "".join(f"func {name}(l *Ledger) int {{ return l.sum }}\n\n" for name in ("Tell", "Say"))
    (bank.root / "ledger/report.go").write_text(f"package ledger\n\n{twice}")
    bank.learn()
    note = bank.only()
    assert note["describes"]["level"] == "file"
    assert note["drifted"] == (
        "was about example.com/bank/ledger.Report, whose code may now be "
        "example.com/bank/ledger.Say (ledger/report.go) or example.com/bank/ledger.Tell (ledger/report.go)"
    )
    bank.run("note", "--confirm", note["id"])
    assert (bank.only()["describes"]["name"], bank.only()["drifted"]) == ("ledger/report.go", "")


@pytest.mark.slow
def test_code_that_looked_the_same_all_along_is_not_taken_for_what_is_gone(bank: Bank) -> None:
    (bank.root / "ledger/tell.go").write_text("package ledger\n\nfunc Tell(l *Ledger) int { return l.sum }\n")
    bank.learn()
    bank.note("Report", "It is called at night.")
    (bank.root / "ledger/report.go").write_text("package ledger\n")
    bank.learn()
    assert bank.only()["drifted"] == "was about example.com/bank/ledger.Report, which is gone"


@pytest.mark.slow
def test_moved_code_that_kept_its_name_is_told_from_new_code_of_the_same_body(bank: Bank) -> None:
    bank.pin("symbol", REPORT, "note", "It is called at night.")
    (bank.root / "night").mkdir()
    body = "(sum int) int { return sum * 31 }"
    bank.edit("ledger/report.go", "(l *Ledger) int { return l.sum }", body)
    bank.learn()
    (bank.root / "ledger/report.go").write_text(f"package ledger\n\nfunc Other{body}\n")
    (bank.root / "night/report.go").write_text(f"package night\n\nfunc Report{body}\n")
    bank.learn()
    assert bank.described() == [("It is called at night.", "example.com/bank/night.Report", DRIFTED)]


@pytest.mark.slow
def test_a_twin_for_another_build_leaves_a_note_where_it_is(bank: Bank) -> None:
    bank.note("Report", "It is called at night.")
    bank.edit("ledger/report.go", "package", "//go:build linux\n\npackage")
    (bank.root / "ledger/report_windows.go").write_text("package ledger\n\nfunc Report(l *Ledger) int { return 0 }\n")
    bank.learn()
    assert bank.described() == [("It is called at night.", "example.com/bank/ledger.Report@report.go", "")]
    outcome = bank.run("note", "Report", "One of two.")
    assert "other builds are example.com/bank/ledger.Report@report_windows.go" in outcome["messages"][0]


def test_names_and_layout_do_not_count_in_what_code_is_known_by() -> None:
    def known(code: str, name: str, owner: str = "") -> tuple[str, str]:
        like = fingerprint(code.encode(), name, owner, "func", code.partition(" {")[0])
        return like.digest, like.signature

    first = "func (s *Store) Save(o *Store) error {\n\t// Save is slow.\n\treturn s.Save(o)\n}"
    last = "func (s  *Disk) Keep(o *Disk) error {\n// Keep is slow.\n\n return s.Keep(o)\n}"
    assert known(first, "Save", "Store") == known(last, "Keep", "Disk")
    assert known(first, "Save", "Store")[1] == "func ) error"
    assert known(first, "Save", "Store") != known(last.replace("(o)", "(nil)"), "Keep", "Disk")
    assert known(first, "Save", "Store") != known(first.replace("slow", "fast"), "Save", "Store")
    # Where a line ends is more than layout, and a text is what it says.
    assert known("return\nx", "F") != known("return x", "F")
    assert known('x := "Save  it"', "Save") != known('x := "Keep  it"', "Keep")
    assert known('x := "a  b"', "F") != known('x := "a b"', "F")
