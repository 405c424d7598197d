"""golore's entries in the text of a configuration file: put in, and taken out again.

The files belong to the user. An entry of ours is known by the command that it runs, so that one from an older golore
is renewed, and one that the user has changed is left as it is. JSON is changed in its text, TOML through tomlkit.
"""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit
from golore.graph.errors import GoloreError
from golore.mcp_server.install import json_edits
from golore.mcp_server.install.agent_configs import Addition, AgentFile, is_our_command
from golore.mcp_server.install.json_edits import Json
from tomlkit.exceptions import TOMLKitError


def added(text: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    """The text with our entries, and remarks on those that were left alone."""
    if target.file.suffix == ".toml":
        return _added_to_toml(text or "", target)
    notes: list[str] = []
    if text is None or not text.strip():
        text = "{}\n"
        for addition in target.frame:
            text = json_edits.insert(text, addition.path, addition.value)
    if not isinstance(json_edits.loads(text), dict):
        raise json_edits.NotJson("There is no object at the top, as golore's entry would need.")
    for addition in target.additions:
        if addition.is_item:
            text = _with_item(text, addition, agent)
            continue
        there = json_edits.get(json_edits.loads(text), addition.path)
        if there is None:
            text = json_edits.insert(text, addition.path, addition.value)
        elif there != addition.value:
            notes.append(f"{target.file} already has its own {'.'.join(addition.path)}, which stays.")
    return text, tuple(notes)


def removed(text: str, target: AgentFile, agent: str, original: str | None) -> str | None:
    """The text without our entries; None where nothing but our own frame is left of a file that we made.

    `original` is the file as it was before us, if it was there: what it had empty stays, empty as it was.
    """
    if target.file.suffix == ".toml":
        return _removed_from_toml(text, target)
    had = json_edits.loads(original) if original is not None and original.strip() else {}
    for addition in target.additions:
        if addition.is_item:
            text = _without_items(text, addition.path, agent)
        elif json_edits.get(json_edits.loads(text), addition.path) == addition.value:
            text = json_edits.remove(text, addition.path)
        for depth in range(len(addition.path), 0, -1):
            path = addition.path[:depth]
            if json_edits.get(json_edits.loads(text), path) in ({}, []) and json_edits.get(had, path) is None:
                text = json_edits.remove(text, path)
    frame = {addition.path[0]: addition.value for addition in target.frame}
    return None if original is None and json_edits.loads(text) in ({}, frame) else text


def _with_item(text: str, addition: Addition, agent: str) -> str:
    items = json_edits.get(json_edits.loads(text), addition.path)
    for n, item in enumerate(items if isinstance(items, list) else []):
        ours = [is_our_command(handler, agent) for handler in _handlers(item)]
        if is_our_command(item, agent) or (ours and all(ours)):
            # All of it is ours: renewed where it is of an older golore.
            return text if item == addition.value else json_edits.replace(text, (*addition.path, n), addition.value)
        if any(ours):
            return text  # the user keeps it among other handlers
    return json_edits.append(text, addition.path, addition.value)


def _without_items(text: str, path: tuple[str, ...], agent: str) -> str:
    items = json_edits.get(json_edits.loads(text), path)
    for n, item in reversed(list(enumerate(items if isinstance(items, list) else []))):
        handlers = _handlers(item)
        ours = [m for m, handler in enumerate(handlers) if is_our_command(handler, agent)]
        if is_our_command(item, agent) or (ours and len(ours) == len(handlers)):
            text = json_edits.remove(text, (*path, n))
            continue
        for m in reversed(ours):
            text = json_edits.remove(text, (*path, n, "hooks", m))
    return text


def _handlers(item: Json) -> list[Json]:
    handlers = item.get("hooks") if isinstance(item, dict) else None
    return handlers if isinstance(handlers, list) else []


def _added_to_toml(text: str, target: AgentFile) -> tuple[str, tuple[str, ...]]:
    document = _toml(text)
    notes: list[str] = []
    for addition in target.additions:
        parent, name = addition.path
        table = document.get(parent)
        if table is None:
            table = tomlkit.table(is_super_table=True)
            document[parent] = table
        if name not in table:
            table[name] = addition.value
        elif table[name].unwrap() != addition.value:
            notes.append(f"{target.file} already has its own {parent}.{name}, which stays.")
    return _checked(tomlkit.dumps(document)), tuple(notes)


def _removed_from_toml(text: str, target: AgentFile) -> str | None:
    document = _toml(text)
    for addition in target.additions:
        parent, name = addition.path
        table = document.get(parent)
        if table is not None and name in table and table[name].unwrap() == addition.value:
            del table[name]
            if not table:
                del document[parent]
    after = _checked(tomlkit.dumps(document))
    return after if after.strip() else None


def _toml(text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise GoloreError(f"It is not TOML: {error}. Mend it and try again.") from error


def _checked(text: str) -> str:
    """What was written must be readable by another reader than the one that wrote it."""
    tomllib.loads(text)
    return text
