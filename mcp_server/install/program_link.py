"""Which golore agents will find: the running program, the PATH without its virtual environment, and a link.

The link is `bin/golore` in the user's state directory. Commands that a team shares look there, so that hooks find a
golore that is on no PATH, such as one that `uv run` or `uvx` started. `golore install` and `golore learn` write it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from golore.graph.safety.child_processes import find_program
from golore.graph.safety.state_directory import create_state_directory, state_directory
from golore.mcp_server.install.launch_commands import BARE, MISSING_NAME

_FOLDER: Final = "bin"


def link_program() -> None:
    """Let hooks find this golore, and let them say again if they do not. Does nothing where links are not possible."""
    forget_notice()
    program = running_program()
    if program is not None:
        link_program_to(program)


def forget_notice() -> None:
    """Let hooks that do not find golore say so again today."""
    with suppress(OSError):
        (Path(state_directory()) / MISSING_NAME).unlink()


def link_program_to(program: Path | None) -> None:
    """Make the link lead to this program; without one, remove it."""
    link = Path(state_directory()) / _FOLDER / BARE
    if os.name == "nt" or linked_program() == program:
        return
    with suppress(OSError):
        if program is None:
            link.unlink()
            link.parent.rmdir()
            return
        create_state_directory(_FOLDER)
        temporary = link.with_name(f"{BARE}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(program)
        temporary.replace(link)


def linked_program() -> Path | None:
    """The program that the link leads to; None if there is no link."""
    link = Path(state_directory()) / _FOLDER / BARE
    return link.readlink() if link.is_symlink() else None


def running_program() -> Path | None:
    """The program `golore` of the running Python; None if there is none."""
    program = Path(sys.executable).with_name("golore.exe" if os.name == "nt" else BARE)
    return program if program.exists() else None


def program_for_user() -> str:
    """The absolute path of the running golore: the one on the PATH if that leads to it, because an update keeps it."""
    running = running_program()
    found = program_on_path()
    if running is None:
        return found or BARE
    return found if found and Path(found).resolve() == running.resolve() else str(running)


def program_on_path() -> str | None:
    """The golore that a shell of the user finds. `uv run` and an active virtual environment put their own directory on
    the PATH, where no agent looks."""
    return find_program(BARE, path_without_environment())


def path_without_environment() -> str:
    """PATH without the directory of the running virtual environment. A directory of tools, such as `~/.local/bin`, is
    not one."""
    path = os.environ.get("PATH", "")
    if sys.prefix == sys.base_prefix:
        return path
    own = Path(sys.executable).parent
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if not entry or Path(entry) != own)


def install_command() -> str:
    """The command that installs this golore for the user, so that it is on the PATH."""
    return f"uv tool install {_source() or 'golore'}"


def _source() -> str:
    """The directory that this golore was installed from; empty if it came from an index."""
    import json
    from importlib import metadata  # takes longer to import than the rest of this module

    with suppress(metadata.PackageNotFoundError, ValueError, AttributeError):
        text = metadata.distribution(BARE).read_text("direct_url.json")
        url = urlsplit(str(json.loads(text)["url"])) if text else urlsplit("")
        if url.scheme == "file":
            return unquote(url.path)
    return ""
