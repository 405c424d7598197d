"""Ignore files: whatever the patterns are, each path is ignored or not."""

from __future__ import annotations

from pathlib import Path

from fuzzing.target import Target
from golore.learner.checkout.ignore_rules import IgnoreRules

_SEEDS = (
    b"*.go\n!keep.go\n/build/\nvendor/**\n**/gen/*.pb.go\n# remark\n\\#odd\n\\!odd\n",
    b"a[a-z]c\n[!x]*\n[[:alpha:]_]?\n[]-]\n[^]a]\n[z-a]\nfoo\\ \nbar  \n",
    b"\xef\xbb\xbf**/\n/**\n**\n***/a\na/**/b\na**b\n/\n!\n",
    b"*a*b*c*d*e*f*g*h*\r\n?????\r\n\\\n[\n[a\n\xff\xfe\n",
)
_PATHS = (
    "main.go", "keep.go", "a/b/c.go", "vendor/example.com/x/x.go", "a" * 200 + ".go", "aXbXcXdXeXfXgX", "gen/x.pb.go",
    "\udcff\udcfe.go", "a b/ü.go", "*", "[", "\\",
)  # fmt: skip


def prepare(_: Path) -> Target:
    def run(data: bytes) -> None:
        rules = IgnoreRules().with_ignore_file("", b"*.tmp\n!/x.tmp\n").with_ignore_file("a", data)
        rules = rules.with_ignore_file("", data)
        for path in _PATHS:
            for is_dir in (False, True):
                rules.ignores(path, is_dir=is_dir)
                rules.ignores(f"a/{path}", is_dir=is_dir)

    return Target(_SEEDS, run)
