"""What extraction reads is what Go's own parser reads, on the sources of the Go toolchain itself.

Every file that go/parser accepts must give the same declarations. The differences that remain are listed in
docs/extraction.md; the tests below hold them to that list.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pytest
from golore.learner.audit.go_judge import FileDeclarations, JudgedDeclaration, find_toolchain, judge_declarations
from golore.learner.extraction import tree_encoder
from golore.learner.extraction.extract import encode, extract
from golore.learner.extraction.facts import DeclaredSymbol, Outline
from golore.learner.extraction.one_line import one_line

WHOLE_PACKAGES = ("encoding/json/v2", "go/ast", "internal/types/testdata/check", "sync/atomic", "unicode")
ESCAPED_IMPORT = "internal/types/testdata/check/importdecl0/importdecl0b.go"
UNFORMATTED = "internal/types/testdata/"


class Compared(NamedTuple):
    path: str
    judged: FileDeclarations
    read: Outline


@pytest.fixture(scope="session")
def source_root() -> Path:
    go = find_toolchain().go
    answer = subprocess.run([go, "env", "GOROOT"], capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip()) / "src"


def go_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.go") if path.is_file())


def compare(root: Path, files: list[Path]) -> list[Compared]:
    judged = judge_declarations(files)
    return [
        Compared(path.relative_to(root).as_posix(), answer, extract(path.read_bytes()).outline)
        for path, answer in zip(files, judged, strict=True)
    ]


@pytest.fixture(scope="session")
def share(source_root: Path) -> list[Compared]:
    """One file in forty, always the same ones, and some packages as a whole."""

    def is_chosen(path: Path) -> bool:
        name = path.relative_to(source_root)
        digest = blake2b(name.as_posix().encode(), digest_size=4).digest()
        return name.parent.as_posix() in WHOLE_PACKAGES or int.from_bytes(digest) % 40 == 0

    chosen = [path for path in go_files(source_root) if is_chosen(path)]
    assert len(chosen) > 200
    return compare(source_root, chosen)


@pytest.fixture(scope="session")
def everything(source_root: Path) -> list[Compared]:
    files = go_files(source_root)
    assert len(files) > 8_000
    return compare(source_root, files)


def declarations_of(judged: FileDeclarations) -> list[JudgedDeclaration]:
    return [declaration for declaration in judged.declarations if declaration.kind != "embed"]


def check_declarations(compared: list[Compared]) -> None:
    for path, judged, read in compared:
        if judged.error:
            continue
        theirs = Counter(
            (d.kind, d.name, d.receiver or d.owner, d.line, d.start, d.embedded, d.tag) for d in declarations_of(judged)
        )
        ours = Counter((s.kind, s.name, s.owner, s.line, s.name_start, s.embedded, s.tag) for s in read.symbols)
        assert ours == theirs, path
        assert read.package == judged.package, path


def check_imports(compared: list[Compared]) -> None:
    for path, judged, read in compared:
        if judged.error or path == ESCAPED_IMPORT:
            continue
        ours = [(i.alias, i.path, line) for i, line in zip(read.imports, read.import_lines, strict=True)]
        assert ours == [(i.name, i.path, i.line) for i in judged.imports], path


def pairs(compared: list[Compared]) -> list[tuple[str, JudgedDeclaration, DeclaredSymbol]]:
    found: list[tuple[str, JudgedDeclaration, DeclaredSymbol]] = []
    for path, judged, read in compared:
        if not judged.error:
            at = {symbol.name_start: symbol for symbol in read.symbols}
            found += [(path, declaration, at[declaration.start]) for declaration in declarations_of(judged)]
    return found


def check_docs(compared: list[Compared]) -> None:
    for path, declaration, symbol in pairs(compared):
        assert symbol.doc == declaration.doc.removesuffix("\n"), (path, symbol.name)


def check_signatures(compared: list[Compared]) -> None:
    for path, declaration, symbol in pairs(compared):
        ours, theirs = symbol.signature, declaration.signature
        if symbol.kind in ("const", "var"):
            ours = ours.partition(" = ")[0]  # go/printer was not asked for the value
        if "\n" in theirs or "/" in theirs:
            theirs = one_line(theirs.encode())
        if path.startswith(UNFORMATTED):
            ours, theirs = bare(ours), bare(theirs)
            if (ours, theirs) == ("const_", "const_int"):
                continue  # `const _ int` without a value, which only go/parser takes
        assert ours == theirs, (path, symbol.name)


def bare(signature: str) -> str:
    """A signature without what gofmt decides: spaces, and parentheses around a type."""
    return re.sub(r"[\s()]|,(?=[)\]])", "", signature)


def check_complaints(compared: list[Compared]) -> None:
    """What go/parser accepts is broken for us only in code that the type checker is meant to refuse."""
    for path, judged, read in compared:
        if not judged.error and not path.startswith(UNFORMATTED):
            assert not read.problems, path


CHECKS = [
    pytest.param(check_declarations, id="declarations"),
    pytest.param(check_imports, id="imports"),
    pytest.param(check_docs, id="docs"),
    pytest.param(check_signatures, id="signatures"),
    pytest.param(check_complaints, id="complaints"),
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_share_of_the_toolchain_reads_as_go_reads_it(share: list[Compared], check: object) -> None:
    assert callable(check)
    check(share)


@pytest.mark.skipif(not tree_encoder.__file__.endswith(".py"), reason="a compiled constant cannot be changed")
def test_short_texts_give_the_code_that_the_tree_gives(
    source_root: Path, share: list[Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {path: (source_root / path).read_bytes() for path, _, read in share if not read.problems}
    by_text = {path: encode(extract(source)) for path, source in sources.items()}
    monkeypatch.setattr(tree_encoder, "MAX_TEXT_BYTES", -1)
    for path, source in sources.items():
        assert encode(extract(source)) == by_text[path], path


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_all_of_the_toolchain_reads_as_go_reads_it(everything: list[Compared], check: object) -> None:
    assert callable(check)
    check(everything)


@pytest.mark.slow
def test_files_that_go_refuses_have_complaints_or_the_same_declarations(everything: list[Compared]) -> None:
    refused = [compared for compared in everything if compared.judged.error]
    assert refused
    for path, judged, read in refused:
        theirs = {(d.kind, d.name, d.line) for d in declarations_of(judged)}
        ours = {(s.kind, s.name, s.line) for s in read.symbols}
        assert read.problems or ours == theirs or path.endswith("issue63835.go"), path
