"""Markdown, HTML and text documents: their sections, and the code that these name."""

from __future__ import annotations

from pathlib import Path

from fuzzing.target import Target
from golore.learner.documents.mentions import MentionTarget, mention_keys, mentions, resolve_mention
from golore.learner.documents.sections import read_document

_ROOT = Path(__file__).parents[2]
_OWN = (
    b"---\ntitle: Store\nstatus: accepted\n---\n# ADR 1: `Memory.Save`\n\nSee [store](../store/store.go#L10) and\n"
    b"`store.New()`.\n\n"
    b'```go\nfunc main() { s := store.New(); s.Save("a") }\n```\n\n| a | b |\n|---|---|\n| `x` | y |\n',
    b"Title\n=====\n\nUnder\n-----\n\n"
    b"* one\n  * two\n> quote\n\n    code\n\n~~~\nfence\n~~~\n<!-- c -->\n\n[r]: a.go 'T'\n",
    b"<html><head><title>T</title></head><body><h1>A &amp; B</h1><p>Use <code>store.New</code></p><pre>x</pre><script>1"
    b"</script><!-- c --></body></html>",
    b"1.2.0\n\nFixed Memory.Save in store/store.go.\n",
)
_NAMES = ("README.md", "docs/adr/0001-store.md", "CHANGELOG.md", "page.html", "notes.txt")


def prepare(_: Path) -> Target:
    def run(data: bytes) -> None:
        path = _NAMES[len(data) % len(_NAMES)]
        page = read_document(path, data)
        assert page == read_document(path, data)
        last = data.count(b"\n") + len(data.decode("utf-8", "replace").splitlines()) + 1
        for section in page.sections:
            assert 1 <= section.line <= section.end_line <= last
            for mention in mentions(path, section.pieces):
                assert all(mention_keys(mention))
                resolve_mention(mention, path, lambda key: (_file(key), _symbol(key)), frozenset(("cobra",)))

    large = [path.read_bytes()[:4_000] for path in (_ROOT / "README.md", _ROOT / "docs" / "tutorial.md")]
    return Target((*_OWN, *large), run)


def _file(key: str) -> MentionTarget:
    return MentionTarget("File", key, key, "", key, "store", "example.com/shop/store", "store")


def _symbol(key: str) -> MentionTarget:
    name = f"example.com/shop/store.{key}"
    return MentionTarget("Symbol", name, name, "func", "store/store.go", "store", "example.com/shop/store", "store")
