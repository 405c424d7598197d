"""Hooks read their table in a file of several by themselves, and never otherwise than TOML says."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from golore.mcp_server.hooks.hook_settings import read_hook_settings

FILES = [
    "[hooks]\nenabled = false # for now\nbudget = 10\n",
    '[models]\nhost = "http://127.0.0.1:1#x" # here\nmodel = "tiny"\nparallel = 2\n\n[hooks]\nrelearn = true\n',
    '[models]\nmodel = """\n[hooks]\nenabled = false\n"""\n',
    "[models]\nnames = [1,\n2]\n[hooks]\nbudget = 3\n",
    "[models]\nmodel = 'tiny'\n[hooks]\nbudget = 3\n",
    '[models]\nmodel = "a\\"b"\n[hooks]\nbudget = 3\n',
    "[upgrade]\nprice_in = 0.5\n[hooks]\nbudget = 3\n",
]


@pytest.mark.parametrize("text", FILES)
def test_hooks_read_what_toml_says(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    assert read_hook_settings(str(path)) == tomllib.loads(text).get("hooks", {})


@pytest.mark.parametrize("text", ["[hooks]\nbudget = 1\nbudget = 2\n", "[hooks]\n[hooks]\n", "[hooks]\nbudget = 08\n"])
def test_what_is_not_toml_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match="line"):
        read_hook_settings(str(path))


def test_settings_of_models_do_not_make_a_hook_load_tomllib(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(FILES[1])
    script = (
        "import sys; from golore.mcp_server.hooks.hook_settings import read_hook_settings; "
        "print(read_hook_settings(sys.argv[1]), 'tomllib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "{'relearn': True} False\n"


def test_settings_that_are_a_device_a_pipe_or_a_giant_are_refused(tmp_path: Path) -> None:
    (tmp_path / "device").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "giant").touch()
    os.truncate(tmp_path / "giant", 4 << 30)
    for name in ("device", "pipe", "giant"):
        with pytest.raises(OSError, match=r"is not a regular file|is larger than"):
            read_hook_settings(str(tmp_path / name))
