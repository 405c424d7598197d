"""Text is shown with visible escapes in place of characters that control a terminal or deceive a reader."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import pytest
from golore.graph.safety.visible_text import is_plain_path, visible_block, visible_json, visible_line
from hypothesis import given
from hypothesis import strategies as st
from support.hostile import HIDDEN, hidden_in

ANY_TEXT = st.text(st.characters() | st.sampled_from(HIDDEN))


@given(ANY_TEXT)
def test_no_hidden_character_is_left_on_a_line(text: str) -> None:
    shown = visible_line(text)
    assert hidden_in(shown) == set()
    assert shown.splitlines() in ([], [shown])
    assert visible_line(shown) == shown


@given(ANY_TEXT)
def test_a_block_keeps_line_breaks_and_tabs_only(text: str) -> None:
    shown = visible_block(text)
    assert hidden_in(shown) <= {"\n", "\t"}
    assert shown.split("\n") == [visible_line(line, kept="\t") for line in text.split("\n")]
    assert visible_block(shown) == shown


@given(st.text(st.characters(exclude_characters=HIDDEN)))
def test_other_text_is_unchanged(text: str) -> None:
    assert visible_line(text) == visible_block(text) == visible_json(text) == text


@given(ANY_TEXT)
def test_json_keeps_its_values(text: str) -> None:
    shown = visible_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert hidden_in(shown) <= {"\n"}
    assert json.loads(shown) == {text: [text]}


def test_every_code_point_that_controls_or_reorders_is_hidden() -> None:
    """Against Unicode's own categories, not the table of the module."""
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(sign) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF"),
            *("LRI", "RLI", "FSI", "PDI"),
        ):
            assert visible_line(f"a{sign}b") != f"a{sign}b"
            assert not is_plain_path(f"a{sign}b")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\U000e0041\ufeff\ud800", "a\\U000e0041\\ufeff\\ud800"),
        ("no-break\u00a0space, 日本語, 👨\u200d💻", "no-break\u00a0space, 日本語, 👨\u200d💻"),
    ],
)
def test_escapes_are_those_of_go_and_python(text: str, shown: str) -> None:
    assert visible_line(text) == shown


def test_a_path_may_have_any_script_but_no_joiner() -> None:
    assert is_plain_path("store/größe 日本\u3000語.go")
    assert not is_plain_path("store/a\u200db.go")
    assert not is_plain_path("store/a\u200bb.go")


def test_hook_processes_import_it_without_anything_else() -> None:
    """A hook must not pay for imports: see `mcp_server/hooks/hook.py`."""
    module = "golore.graph.safety.visible_text"
    code = f"import sys; before = set(sys.modules); import {module}; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names: set[str] = eval(done.stdout)
    assert {name for name in names if not name.startswith("golore")} <= {"importlib._bootstrap_external"}
