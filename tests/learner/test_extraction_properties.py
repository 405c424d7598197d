"""Extraction of any bytes: it never raises, the same bytes give the same facts, and places lead back to the names."""

from __future__ import annotations

from bisect import bisect_right

from golore.learner.extraction.extract import encode, extract
from golore.learner.extraction.facts import decode_body, decode_outline, decode_shape
from hypothesis import example, given, settings
from hypothesis import strategies as st

SNIPPETS = (
    b"package p\n",
    b"// Doc.\npackage p // remark\n\nimport (\n\t\"fmt\"\n\tx \"a/b\"\n\t. \"c\"\n\t_ \"d\"\n)\n",
    b"// F does.\nfunc F[T any, U ~int | string](a, b T, xs ...U) (n int, err error) {\n\treturn len(xs), nil\n}\n",
    b"func (r *R[K, V]) M(f func(K) V) map[string][]*x.T { return r.m.n(f).o }\n",
    b"type T struct {\n\tA, B int `json:\"a\"`\n\t*E\n\tx.Q[int]\n\tf func(...string) chan<- struct{}\n}\n",
    b"type I interface {\n\t// M does.\n\tM(x int) (y error)\n\tE\n\t~int | ~string\n}\n",
    b"type A = map[[3]int]<-chan interface{ N() }\n",
    b"const (\n\tC0 = iota << 1 // remark\n\tC1\n\t// C2.\n\tC2, C3 = 'a', \"\\n\"\n)\n",
    b"var v, w = []T{{A: 1}, {2, nil}}, func() { go f(); defer g(x...) }\n",
    b"func G() {\nL:\n\tfor i, x := range xs {\n\t\tif a := x[i:]; a != nil { continue L } "
    b"else if b { break } else { goto L }\n\t}\n}\n",
    b"func H(v any) {\n\tswitch y := v.(type) {\n\tcase int, *T:\n\t\ty++\n\tdefault:\n"
    b"\t\tselect { case c <- 1: case z, ok := <-c: _, _ = z, ok }\n\t}\n}\n",
    b"func J() { x := new(1); y := &T{A: f(`raw\n`)}; *p, q.r = x.(T).z, !(a && b || -c < 1.5i) }\n",
    b"/* block\ncomment */\nfunc \xc3\xa9t\xc3\xa9() { var \xce\xb1 = 0x1p-2 }\n",
)  # fmt: skip
ODDITIES = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"{", b"}", b"(", b")", b"[", b"]", b'"', b"`", b"'", b"/*", b"*/",
    b"//", b"\\", b":=", b"...", b"func", b"type ", b"interface{", b"struct{", b"new(1)", b"~", b"<-",
    b"\xe2\x80\xa8", b";", b"\n",
)  # fmt: skip


@st.composite
def mutated_go(draw: st.DrawFn) -> bytes:
    """Real Go with pieces deleted, doubled, swapped and put in, and other line ends."""
    text = b"".join(draw(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=6)))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        match draw(st.sampled_from(("delete", "double", "swap", "insert"))):
            case "delete":
                text = text[:start] + text[end:]
            case "double":
                text = text[:end] + text[start:]
            case "swap":
                other = draw(st.integers(end, len(text)))
                text = text[:start] + text[end:other] + text[start:end] + text[other:]
            case _:
                text = text[:start] + draw(st.sampled_from(ODDITIES) | st.binary(max_size=8)) + text[start:]
    if draw(st.booleans()):
        text = text.replace(b"\n", b"\r\n")
    return draw(st.sampled_from((b"", b"\xef\xbb\xbf"))) + text


def check(source: bytes) -> None:
    facts = extract(source)
    packed = encode(facts)
    assert encode(extract(source)) == packed
    assert decode_outline(packed.outline) == facts.outline
    assert decode_shape(packed.shape) == facts.shape
    assert decode_body(packed.body) == facts.body
    starts = [0] + [i + 1 for i, byte in enumerate(source) if byte == 0x0A]
    for symbol in facts.outline.symbols:
        end = source[symbol.name_start : symbol.end]
        assert end.decode("utf-8", "replace").startswith(symbol.name)
        if "�" not in symbol.name:
            name = symbol.name.encode()
            assert source[symbol.name_start : symbol.name_start + len(name)] == name
        assert symbol.line == bisect_right(starts, symbol.name_start)
        assert symbol.start <= symbol.name_start <= symbol.end <= len(source)
        assert symbol.line <= symbol.end_line <= len(starts)
        assert "\n" not in symbol.signature or "`" in symbol.signature
    for complaint in facts.outline.problems:
        assert 1 <= complaint.line <= len(starts)


@settings(max_examples=150)
@given(st.binary(max_size=400))
@example(b"package p\nfunc (")
@example(b"package p\ntype \xff struct{ \xff \xff }")
def test_any_bytes_give_facts(source: bytes) -> None:
    check(source)


@settings(max_examples=300)
@given(mutated_go())
def test_damaged_go_gives_facts(source: bytes) -> None:
    check(source)
