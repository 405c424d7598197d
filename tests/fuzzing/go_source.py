"""The Go reader: the facts of one file."""

from __future__ import annotations

from pathlib import Path

from fuzzing.target import Target
from golore.learner.extraction import facts as f
from golore.learner.extraction.extract import encode, extract
from support import markers

_ARCHIVES = Path(__file__).parents[2] / "fixtures" / "resolve"
_LONGEST_SEED = 1_500


def prepare(_: Path) -> Target:
    return Target(go_files(), _run)


def go_files() -> tuple[bytes, ...]:
    """The short Go files of the archives about resolution."""
    found: list[bytes] = []
    for path in sorted(_ARCHIVES.glob("*.txtar")):
        files = markers.read_archive(path.read_text(encoding="utf-8")).files
        found += [text.encode() for name, text in sorted(files.items()) if name.endswith(".go")]
    return tuple(text for text in found if len(text) <= _LONGEST_SEED)


def _run(data: bytes) -> None:
    facts = extract(data)
    packed = encode(facts)
    assert f.decode_outline(packed.outline) == facts.outline
    assert f.decode_shape(packed.shape) == facts.shape
    assert f.decode_body(packed.body) == facts.body
    lines = data.count(b"\n") + 1
    for symbol in facts.outline.symbols:
        assert symbol.start <= symbol.name_start <= symbol.end <= len(data)
        assert 1 <= symbol.line <= symbol.end_line <= lines
