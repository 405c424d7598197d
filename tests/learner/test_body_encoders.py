"""Bodies read from tokens say what bodies read from the tree say, and what is no plain Go is left to the tree."""

from __future__ import annotations

import random
import subprocess
from hashlib import blake2b
from pathlib import Path

import pytest
from golore.learner.audit.go_judge import find_toolchain, judge_declarations
from golore.learner.extraction.declarations import Declarations
from golore.learner.extraction.extract import extract, read_from_tokens, read_from_tree
from golore.learner.extraction.skeleton import find_cuts
from golore.learner.extraction.token_encoder import CannotEncode

MISREAD_BY_THE_GRAMMAR = {
    "reflect/all_test.go",  # `chan<- chan T` is taken for `chan (<-chan T)`
    "cmd/link/testdata/testRO/x.go",  # `*(*T)(p).f` is taken for `(*(*T)(p)).f`
}


def code_of(read: Declarations) -> list[tuple[int, list[int]]]:
    """The code of each body."""
    ends = [*(entry.at for entry in read.entries), len(read.encoder.code)][1:]
    return [(entry.decl, read.encoder.code[entry.at : end]) for entry, end in zip(read.entries, ends, strict=False)]


def compare(source: bytes) -> str:
    """How the two ways of reading one file differ; nothing if they do not, or there is only one."""
    try:
        plain = read_from_tokens(source, True)
    except CannotEncode:
        return ""
    whole = read_from_tree(source, True)
    if whole.problems:
        return ""
    if plain.symbols != whole.symbols or plain.decls != whole.decls or plain.shape_code != whole.shape_code:
        return "declarations"
    if sorted(plain.encoder.names) != sorted(whole.encoder.names):
        return "names"
    again = read_from_tokens(source, True, [name.encode() for name in whole.encoder.names])
    return "" if code_of(again) == code_of(whole) else "code"


@pytest.fixture(scope="module")
def go_files() -> dict[str, Path]:
    answer = subprocess.run([find_toolchain().go, "env", "GOROOT"], capture_output=True, text=True, check=True)
    root = Path(answer.stdout.strip()) / "src"
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.go")) if path.is_file()}


def check(files: dict[str, Path]) -> None:
    different = {name: found for name, path in files.items() if (found := compare(path.read_bytes()))}
    assert different.keys() <= MISREAD_BY_THE_GRAMMAR, different


def test_tokens_and_tree_agree_on_a_share_of_gos_own_source(go_files: dict[str, Path]) -> None:
    share = {
        name: path
        for name, path in go_files.items()
        if int.from_bytes(blake2b(name.encode(), digest_size=4).digest()) % 50 == 7
    }
    assert len(share) > 100
    check(share)


@pytest.mark.slow
def test_tokens_and_tree_agree_on_all_of_gos_own_source(go_files: dict[str, Path]) -> None:
    check(go_files)


def is_plain(source: str) -> bool:
    try:
        read_from_tokens(source.encode(), True)
    except CannotEncode:
        return False
    return True


STATEMENTS = {
    "calls and selectors": "a.b(c).d[e](f...)\n\tg.h.i(j.k, *l, &m)",
    "generic calls": "F[int, []T](x)\n\tp.G[map[string]T](y).Z()",
    "definitions": "a, _ := b()\n\tvar c, d int = 1, 2\n\tvar e = f\n\tconst g, h = iota, 'x'",
    "grouped constants": "const (\n\t\ta T = iota\n\t\tb\n\t)\n\t_ = a",
    "assignments": "a[i], b.c = d, <-e\n\tf += g\n\th++\n\tc <- d",
    "types": "type S struct {\n\t\ta, b [4]int `tag`\n\t\t*p.E\n\t\tG[int]\n\t}\n\ttype A = func(int, ...S) (x error)",
    "interfaces": "var i interface {\n\t\tM(a, b int) (c, d error)\n\t\tfmt.Stringer\n\t}\n\ti.M(1, 2)",
    "channels": "a := make(chan<- int)\n\tb := make(<-chan *T, 3)\n\t<-b\n\ta <- <-b",
    "if": "if a := b(); a {\n\t\tc()\n\t} else if (T{1}) == d {\n\t} else {\n\t\te()\n\t}",
    "for": "for i := 0; i < n; i++ {\n\t\tf(i)\n\t}\n\tfor {\n\t}\n\tfor a {\n\t\tcontinue\n\t}\n\tfor ; ; a++ {\n\t}",
    "range": "for a[i], b = range f() {\n\t}\n\tfor k, v := range m {\n\t\tg(k, v)\n\t}\n\tfor range 3 {\n\t}",
    "switch": "switch x := f(); {\n\tcase a, b < c:\n\t\tfallthrough\n\tdefault:\n\t\td()\n\t}\n\tswitch y {\n\t}",
    "type switch": "switch a := 1; b := c.(type) {\n\tcase nil, *T, []int:\n\t\tb.d(a)\n\tdefault:\n\t}",
    "select": "select {\n\tcase <-a:\n\tcase b, ok := <-c:\n\t\td(b, ok)\n\tcase e <- f:\n\tdefault:\n\t}",
    "labels": "outer:\n\tfor {\n\t\tbreak outer\n\t}\n\tgoto end\nend:",
    "literals": 'a := []T{{1, 2}, {x: b()}}\n\tc := map[K]T{"d": {e: f}, g(): {}}\n\t_ = [...]int{2: 1}\n\th(a, c)',
    "data": "a := []float64{1.5, -0x1p-2, .5e3, 1_000, 07, 'x', 3i, /* none */ 4}\n\tf(a)",
    "functions": "go func(a, b int, c ...T) (d error) {\n\t\tdefer e()\n\t\treturn f(a)\n\t}(1, 2, g...)",
    "operators": "a := b*c + d<<e&^f | -g ^ !h == (i && j || k <= l)\n\tm(a)",
    "slices": "a[:], b[1:], c[:n], d[i:j:k] = e[i], f[:][0], g, h",
    "conversions": "a := []byte(b)\n\tc := (*T)(d)\n\te := any(f).(error)\n\tg(a, c, e, struct{}{}, [2]int{}[0])",
    "semicolons": "a(); b(); { c(); }; ;\n\td() // remark\n\te(\n\t\tf, // remark\n\t\t/* one\n\t\ttwo */ g,\n\t)",
    "raw strings": "a(`x\n}\nfunc f() {\n`, b)\n\tc()",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_plain_statements_are_read_from_tokens_as_from_the_tree(name: str) -> None:
    source = f"package p\n\nfunc f() {{\n\t{STATEMENTS[name]}\n}}\n\nvar v = func() {{\n\t{STATEMENTS[name]}\n}}\n"
    assert is_plain(source)
    assert compare(source.encode()) == ""


LAYOUTS = {
    "a string with a function in it": "var a = `\nfunc f() {\n`\n\nfunc g() {\n\th()\n}\n\nvar b = `\n}\n`\n",
    "a comment with a function in it": "/*\nfunc f() {\n*/\n\nfunc g() {\n\th()\n}\n\n/*\n}\n*/\n",
    "a remark that ends in a brace": "func a() // see {\n\nfunc g() {\n\th()\n}\n",
    "a body that ends within a line": "func f() {\n\tg() }\n\ntype T struct {\n\ta int\n}\n\nfunc h() {\n\ti()\n}\n",
    "a value that ends within a line": "var a = []T{\n\t{1}, {b}}\n\ntype T struct {\n\ta int\n}\n",
    "a value of a struct type": "var a = []struct {\n\tb int\n}{\n\t{c()},\n\t{d()},\n}\n",
    "a struct in a signature": "func f(a struct {\n\tb int\n}) interface {\n\tC()\n} {\n\treturn g(a)\n}\n",
    "a signature of several lines": "func f(\n\ta int, // first {\n\tb T,\n) (\n\tc error,\n) {\n\treturn g(a, b)\n}\n",
    "a label at the beginning of a line": "func f() {\nl:\n\tfor {\n\t\tbreak l\n\t}\n\tg()\n}\n",
    "an empty body": "func f() {\n}\n\nfunc g() {\n\th()\n}\n",
    "blocks at the beginning of a line": "func f() {\nif a {\nb()\n}\nc()\n}\n\nfunc d() {\n\te()\n}\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_but_bodies_is_left_out_of_the_tree(name: str) -> None:
    source = f"package p\n\n{LAYOUTS[name]}".encode()
    whole = read_from_tree(source, True)
    read = extract(source)
    assert not whole.problems
    assert list(read.outline.symbols) == whole.symbols
    assert [entry.decl for entry in read.body.entries] == [entry.decl for entry in whole.entries]
    assert compare(source) == ""


def test_bodies_laid_out_as_usual_are_left_out_of_the_tree() -> None:
    source = (
        b"package p\n\nfunc f() {\n\tg()\n}\n\nfunc (t T) h(\n\ta int,\n) {\n\ti(`}`)\n}\n\nvar a = []T{\n\t{1},\n}\n"
    )
    cut = [source[start : end + 1] for start, end in find_cuts(source).items()]
    assert cut == [b"{\n\tg()\n}", b"{\n\ti(`}`)\n}", b"{\n\t{1},\n}"]


def mutants(files: list[Path], each: int, seed: int) -> list[bytes]:
    """Real files with one word or sign of a body taken out, put twice or put elsewhere."""
    dice = random.Random(seed)
    made: list[bytes] = []
    for path in files:
        source = path.read_bytes()
        bodies = list(find_cuts(source).items())
        for _ in range(each if bodies else 0):
            start, end = dice.choice(bodies)
            words = source[start:end].split(b" ")
            if len(words) < 4:
                continue
            at, other = dice.randrange(1, len(words)), dice.randrange(1, len(words))
            match dice.randrange(3):
                case 0:
                    del words[at]
                case 1:
                    words.insert(at, words[other])
                case _:
                    words[at] = words[at][: len(words[at]) // 2] + words[at][len(words[at]) // 2 + 1 :]
            made.append(source[:start] + b" ".join(words) + source[end:])
    return made


def test_what_tokens_are_read_of_is_go(go_files: dict[str, Path], tmp_path: Path) -> None:
    small = [path for name, path in go_files.items() if "testdata" not in name and path.stat().st_size < 8_000]
    written: list[Path] = []
    for number, source in enumerate(mutants(small[::40], 8, seed=5)):
        if source.isascii() and is_plain(source.decode()):
            path = tmp_path / f"m{number}.go"
            path.write_bytes(source)
            written.append(path)
    assert len(written) > 50
    refused = {path.name: answer.error for path, answer in zip(written, judge_declarations(written), strict=True)}
    assert not {name: error for name, error in refused.items() if error}
