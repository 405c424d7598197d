"""Facts of single files: what is declared, documented and shown, and that no input is too bad to be read."""

from __future__ import annotations

import pytest
from golore.learner.extraction import opcodes as c
from golore.learner.extraction import tree_encoder
from golore.learner.extraction.extract import encode, extract, extract_shape
from golore.learner.extraction.facts import DeclaredSymbol, Outline, unpack


def outline(source: str | bytes) -> Outline:
    return extract(source.encode() if isinstance(source, str) else source).outline


def symbols(source: str | bytes) -> dict[str, DeclaredSymbol]:
    return {f"{s.owner}.{s.name}" if s.owner else s.name: s for s in outline(source).symbols}


def names(source: str | bytes) -> list[str]:
    return [symbol.name for symbol in outline(source).symbols]


def test_every_kind_of_declaration_is_a_symbol() -> None:
    found = symbols(
        "package p\n"
        "func F() {}\n"
        "func (t *T[K]) M() {}\n"
        'type T[K any] struct { A, B int `json:"a"`; *E; p.Q[int] }\n'
        "type I interface { N(x int) error; E; ~int | string }\n"
        "type D int\n"
        "type S = struct { X int }\n"
        "type W (struct { Y int })\n"
        "const ( C1 = iota; C2 )\n"
        'var V1, V2 = 1, "x"\n'
    )
    kinds = {name: symbol.kind for name, symbol in found.items()}
    assert kinds == {
        "F": "func", "T.M": "method", "T": "struct", "T.A": "field", "T.B": "field", "T.E": "field", "T.Q": "field",
        "I": "interface", "I.N": "imethod", "D": "type", "S": "alias", "S.X": "field", "W": "struct", "W.Y": "field",
        "C1": "const", "C2": "const", "V1": "var", "V2": "var",
    }  # fmt: skip
    assert [name for name, symbol in found.items() if symbol.embedded] == ["T.E", "T.Q"]
    assert found["T.B"].tag == '`json:"a"`'
    assert found["T.M"].line == 3


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        ("func F(\n\ta int, // one\n\tb string,\n) (n int, e error) {}", "func F(a int, b string) (n int, e error)"),
        ("func (t *T) M[P any](x P) {}", "func (t *T) M[P any](x P)"),
        ("func F[T interface {\n\t~int\n\tM() string\n}](x T)", "func F[T interface{ ~int; M() string }](x T)"),
        ("type T struct { a int }", "type T struct"),
        ("type T[K comparable] map[K]func(K) (\n\tint,\n)", "type T[K comparable] map[K]func(K) (int)"),
        ("type A = interface {\n\tM()\n}", "type A = interface{ M() }"),
        ("var v struct {\n\ta, b int // both\n\tc  string\n}", "var v struct{ a, b int; c string }"),
        ("var v /* odd */ int = 1", "var v int = 1"),
        ("const c = 'x' + 1", "const c = 'x' + 1"),
        ('var u = "http://host"', 'var u = "http://host"'),
    ],
)  # fmt: skip
def test_a_signature_is_one_line_as_gofmt_sets_it(source: str, signature: str) -> None:
    assert outline(f"package p\n{source}\n").symbols[0].signature == signature


def test_documentation_is_the_group_right_above() -> None:
    found = symbols(
        "// Package p does.\npackage p\n\n"
        "// far away\n\n"
        "// F does.\n//\n//go:noinline\n//   indented\nfunc F() {} // remark\n"
        "func G() {}\n"
        "/* H is\nold.\n\nDeprecated: use F. */\nfunc H() {}\n"
        "// group\nconst (\n\t// C is one.\n\tC = 1 // remark\n\tD = 2\n)\n"
        "// V is alone.\nvar V int\n"
    )
    assert found["F"].doc == "F does.\n\n  indented"
    assert (found["G"].doc, found["C"].doc, found["D"].doc, found["V"].doc) == ("", "C is one.", "", "V is alone.")
    assert found["H"].deprecated
    assert not found["F"].deprecated


def test_line_ends_of_windows_read_like_those_of_unix() -> None:
    unix = "// P.\npackage p\n\n// F does.\n// More.\nfunc F(\n\ta int,\n) {}\n\ntype T struct {\n\tA int // x\n}\n"
    assert names(unix.replace("\n", "\r\n")) == names(unix)
    for ours, theirs in zip(outline(unix.replace("\n", "\r\n")).symbols, outline(unix).symbols, strict=True):
        assert (ours.line, ours.doc, ours.signature) == (theirs.line, theirs.doc, theirs.signature)


def test_a_byte_order_mark_moves_nothing() -> None:
    plain = b"package p\nfunc F() {}\n"
    marked = outline(b"\xef\xbb\xbf" + plain)
    assert marked.package == "p"
    assert marked.symbols[0].name_start == outline(plain).symbols[0].name_start + 3
    assert not marked.problems


def test_invalid_utf8_is_replaced_where_it_is_shown() -> None:
    read = outline(b'// \xff\xfe doc\npackage p\n\n// F \xff.\nfunc F() { _ = "\xff" }\n')
    assert [symbol.name for symbol in read.symbols] == ["F"]
    assert read.symbols[0].doc == "F �."


@pytest.mark.parametrize("source", [b"", b"\n", b"\xef\xbb\xbf", b"// only a comment\n", b"\0\0\0", b"\xff" * 100])
def test_a_file_without_a_package_clause_has_a_complaint_and_no_symbols(source: bytes) -> None:
    read = outline(source)
    assert read.symbols == ()
    assert "no package clause" in [complaint.message for complaint in read.problems]


def test_broken_code_gives_the_declarations_around_it_and_complaints() -> None:
    read = outline("package p\n\nfunc A() { x := }\n\nvar = 3\n\nfunc C() { ) }\n\ntype T struct {\n\tF int\n")
    assert {"A", "C"} <= {symbol.name for symbol in read.symbols}
    assert read.problems
    assert all(complaint.line > 0 for complaint in read.problems)


def test_go_newer_than_the_grammar_is_read() -> None:
    read = outline(
        "package p\n\ntype T[K any] struct{}\n\nfunc (t *T[K]) Map[V any](f func(K) V) V { return f(t.x) }\n\n"
        'func F() { a, b := new(1), new("x"); c := new(F()); _, _, _ = a, b, c }\n'
    )
    assert [(s.kind, s.name, s.owner) for s in read.symbols][1:] == [("method", "Map", "T"), ("func", "F", "")]
    assert not read.problems


def test_a_long_list_of_names_declares_as_many_parameters() -> None:
    """The grammar reads the first of many names as types."""
    names = "a b c d e f g h i j k l m n".split()
    together = extract_shape(f"package p\nfunc F({', '.join(names)} *T)".encode())
    apart = extract_shape(f"package p\nfunc F({', '.join(f'{name} *T' for name in names)})".encode())
    assert together.code == apart.code


def test_a_star_before_a_generic_call_is_no_pointer_type() -> None:
    calls = [f"package p\nvar v = *f[{argument}]({value})" for argument, value in (("int", "0"), ("func()", "(0)"))]
    for source in calls:
        code = unpack(extract(source.encode()).body.code)
        assert [code[1], code[2], code[5]] == [c.STAR, c.CALL, c.INDEX]


def test_editing_a_body_leaves_the_shape_alone() -> None:
    before = (
        'package p\n\nimport "fmt"\n\nfunc F(a int) error { return nil }\n\n'
        'var V = G(1)\n\nfunc G(int) string { return "" }\n'
    )
    after = before.replace("return nil", 'fmt.Println(a, V)\n\n\treturn fmt.Errorf("x")')
    assert outline(before).shape == outline(after).shape
    assert outline(before).shape != outline(before.replace("a int", "a string")).shape
    assert encode(extract(before.encode())).shape == encode(extract(before.encode())).shape


def test_the_shape_alone_is_the_shape_of_the_whole() -> None:
    source = b'package p\nimport "os"\ntype T struct{ f *os.File }\nfunc (t T) M() { t.f.Close() }\nvar X = T{}.M\n'
    assert extract_shape(source) == extract(source).shape


def test_a_file_of_five_megabytes_is_read() -> None:
    functions = "".join(f"func F{i}(a int) int {{ return F{i}(a + {i}) }}\n" for i in range(60_000))
    table = "var T = []int{" + "1, 2, 0x3, " * 200_000 + "}\n"
    read = outline("package p\n" + functions + table)
    assert len(functions) + len(table) > 5_000_000
    assert len(read.symbols) == 60_001
    assert not read.problems


NESTED = {
    "parentheses": ("func F() { _ = " + "(" * 100_000 + "1" + ")" * 100_000 + " }", True),
    "blocks": ("func F() " + "{" * 10_000 + "}" * 10_000, False),
    "function literals": ("func F() { " + "func() { " * 10_000 + "}()" * 10_000 + " }", False),
    "composite literals": ("var F = []T{" + "{" * 10_000 + "x" + "}" * 10_000 + "}", False),
    "pointer types": ("type F " + "*" * 10_000 + "int", False),
    "slice types in parameters": ("func F(x " + "[]" * 10_000 + "int) {}", False),
    "function types": ("type F " + "func(" * 5_000 + ")" * 5_000, False),
    "interfaces": ("type F " + "interface{ M() " * 3_000 + "}" * 3_000, False),
    "structs": ("type F " + "struct{ f " * 3_000 + "int" + "}" * 3_000, False),
    "calls in calls": ("func F() { " + "f(" * 10_000 + ")" * 10_000 + " }", False),
    "calls of calls": ("func F() { f" + "()" * 10_000 + " }", False),
    "chained methods": ("func F() { f" + ".m(1)" * 10_000 + " }", False),
    "indexes": ("func F() { _ = " + "a[" * 10_000 + "0" + "]" * 10_000 + " }", False),
    "negations": ("func F() { _ = " + "!" * 10_000 + "x }", False),
    "operators": ("func F() { _ = 1" + " + x.y(2)" * 10_000 + " }", True),
    "else if": ("func F() { if a {}" + " else if b {}" * 5_000 + " }", True),
    "conditions": ("func F() { " + "if a { " * 5_000 + "}" * 5_000 + " }", False),
    "receivers": ("func (" + "(" * 10_000 + "T" + ")" * 10_000 + ") F() {}", True),
    "unclosed parentheses": ("func F() { _ = " + "(" * 50_000, False),
    "unclosed braces": ("func F() " + "{" * 20_000, False),
    "unopened braces": ("func F() {}" + "}" * 20_000, False),
}


@pytest.mark.parametrize("shape", NESTED)
def test_deeply_nested_code_is_read_as_far_as_it_goes(shape: str) -> None:
    code, is_complete = NESTED[shape]
    read = extract(f"package p\n\nfunc Before() {{}}\n\n{code}\n".encode())
    assert "Before" in [symbol.name for symbol in read.outline.symbols]
    assert is_complete == (not read.outline.problems)


@pytest.mark.skipif(not tree_encoder.__file__.endswith(".py"), reason="a compiled constant cannot be changed")
def test_short_texts_give_the_code_that_the_tree_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        b'package p\n\nimport "a/b"\n\ntype C[T ~int | string, U a | b] interface{ a | b }\n\n'
        b"var m = map[string]*b.T{}\n\n"
        b"func F(ctx b.Context, xs ...[]*b.T) (err error) {\n"
        b'\tx, ok := <-m["k"], !f(a.b, 1, "s")\n\tif err != nil || len(x) == 0 { return b.Wrap(err) }\n'
        b"\tgo func() { x.y.z(&x, *p, []byte(s), make([]int, 3), new(T)) }()\n"
        b"\tvar g func(int, b.T) = func(int, b.T) {}\n"
        b"\ta, b.c = x[i], 1 << 3\n\tswitch v := x.(type) { case *b.T, []int: v.w++ }\n"
        b'\treturn &b.T{Name: "n", F:  f(1), G: {H: i}, 1: 2, k(): -1, Fn: func() {}}\n}\n'
    )
    by_text = encode(extract(source))
    monkeypatch.setattr(tree_encoder, "MAX_TEXT_BYTES", -1)
    assert encode(extract(source)) == by_text
