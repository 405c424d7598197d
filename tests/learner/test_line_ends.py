"""Files with the line ends of Windows give the same graph as others, but for the offsets of bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from golore.learner.pipeline.graph_step import learn_graph
from support.learned_tree import exported

SHOP = Path(__file__).resolve().parents[2] / "fixtures" / "shop"
HARD = """\
//go:build linux || windows

/*
Package hard has what spans lines.

	code in a comment
*/
package hard

import (
	"fmt"
	"strings"
)

// Text is a raw string
// of several lines.
const Text = `first
second`

// Join joins.
func Join(
	parts []string,
	separator string, // between them
) (joined string, err error) {
	return fmt.Sprint(strings.Join(parts, separator)), nil
}

type Joiner interface {
	Join(parts []string) (
		string, error)
}

type plain struct {
	/* unused */ Name string `json:"name"`
}

func (p *plain) Join(parts []string) (string, error) { return Join(parts, p.Name) }
"""


def graph_of(root: Path) -> list[dict[str, Any]]:
    learn_graph(root, store_directory=root.with_suffix(".store"), workers=0)
    lines = [json.loads(line) for line in exported(root.with_suffix(".store"))]
    return [{name: value for name, value in line.items() if name not in _OF_BYTES} for line in lines]


_OF_BYTES = ("bytes", "digest", "start", "end")


def test_line_ends_of_windows_give_the_same_symbols_edges_and_lines(tmp_path: Path) -> None:
    files = {str(path.relative_to(SHOP)): path.read_bytes() for path in SHOP.rglob("*") if path.is_file()}
    files["hard/hard.go"] = HARD.encode()
    files[".gitignore"] = b"/ignored/\n"
    files["ignored/ignored.go"] = b"package ignored\n"
    files["README.md"] = b"# Shop\n\nSee `Join` in hard/hard.go.\n"
    graphs: list[list[dict[str, Any]]] = []
    for line_end in (b"\n", b"\r\n"):
        root = tmp_path / f"tree-{len(line_end)}"
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.replace(b"\r\n", b"\n").replace(b"\n", line_end))
        graphs.append(graph_of(root))
    assert any(line.get("name") == "Join" for line in graphs[0])
    assert not any("ignored" in str(line.get("path", "")) for line in graphs[0])
    assert graphs[0] == graphs[1]
