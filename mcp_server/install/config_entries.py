"""Adds golore's entries to the text of a configuration file, and removes them.

The files belong to the user. A hook of golore is recognized by the command that it runs, so that one from an older
golore is updated. An MCP server that differs from golore's entry is left alone. JSON is edited in its text, TOML
through tomlkit.
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


def add_entries(text: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    """The text with golore's entries, and a remark for each entry that was left alone."""
    if target.file.suffix == ".toml":
        return _added_to_toml(text or "", target)
    remarks: list[str] = []
    if text is None or not text.strip():
        text = "{}\n"
        for addition in target.frame:
            text = json_edits.insert(text, addition.path, addition.value)
    if not isinstance(json_edits.loads(text), dict):
        raise json_edits.JsonEditError(
            "The top level must be an object for golore's entry. Correct the file and try again."
        )
    for addition in target.additions:
        if addition.is_item:
            text = _with_item(text, addition, agent)
            continue
        current = json_edits.get(json_edits.loads(text), addition.path)
        if current is None:
            text = json_edits.insert(text, addition.path, addition.value)
        elif current != addition.value:
            remarks.append(f"{target.file} already has another {'.'.join(addition.path)}; it was not changed.")
    return text, tuple(remarks)


def remove_entries(text: str, target: AgentFile, agent: str, original: str | None) -> str | None:
    """The text without golore's entries; None if golore created the file and nothing else is left in it.

    `original` is the text before the installation, None if there was no file. Objects and arrays that were empty in
    it are kept.
    """
    if target.file.suffix == ".toml":
        return _removed_from_toml(text, target)
    initial = json_edits.loads(original) if original is not None and original.strip() else {}
    for addition in target.additions:
        if addition.is_item:
            text = _without_items(text, addition.path, agent)
        elif json_edits.get(json_edits.loads(text), addition.path) == addition.value:
            text = json_edits.remove(text, addition.path)
        for depth in range(len(addition.path), 0, -1):
            path = addition.path[:depth]
            if json_edits.get(json_edits.loads(text), path) in ({}, []) and json_edits.get(initial, path) is None:
                text = json_edits.remove(text, path)
    frame = {addition.path[0]: addition.value for addition in target.frame}
    return None if original is None and json_edits.loads(text) in ({}, frame) else text


def _with_item(text: str, addition: Addition, agent: str) -> str:
    items = json_edits.get(json_edits.loads(text), addition.path)
    for n, item in enumerate(items if isinstance(items, list) else []):
        matches = [is_our_command(handler, agent) for handler in _handlers(item)]
        if is_our_command(item, agent) or (matches and all(matches)):
            # The whole item is golore's: replace it if an older golore wrote it.
            return text if item == addition.value else json_edits.replace(text, (*addition.path, n), addition.value)
        if any(matches):
            return text  # the user put it in a group with other handlers
    return json_edits.append(text, addition.path, addition.value)


def _without_items(text: str, path: tuple[str, ...], agent: str) -> str:
    items = json_edits.get(json_edits.loads(text), path)
    for n, item in reversed(list(enumerate(items if isinstance(items, list) else []))):
        handlers = _handlers(item)
        matches = [m for m, handler in enumerate(handlers) if is_our_command(handler, agent)]
        if is_our_command(item, agent) or (matches and len(matches) == len(handlers)):
            text = json_edits.remove(text, (*path, n))
            continue
        for m in reversed(matches):
            text = json_edits.remove(text, (*path, n, "hooks", m))
    return text


def _handlers(item: Json) -> list[Json]:
    handlers = item.get("hooks") if isinstance(item, dict) else None
    return handlers if isinstance(handlers, list) else []


def _added_to_toml(text: str, target: AgentFile) -> tuple[str, tuple[str, ...]]:
    document = _parse_toml(text)
    remarks: list[str] = []
    for addition in target.additions:
        parent, name = addition.path
        table = document.get(parent)
        if table is None:
            table = tomlkit.table(is_super_table=True)
            document[parent] = table
        if name not in table:
            table[name] = addition.value
        elif table[name].unwrap() != addition.value:
            remarks.append(f"{target.file} already has another {parent}.{name}; it was not changed.")
    return _checked(tomlkit.dumps(document)), tuple(remarks)


def _removed_from_toml(text: str, target: AgentFile) -> str | None:
    document = _parse_toml(text)
    for addition in target.additions:
        parent, name = addition.path
        table = document.get(parent)
        if table is not None and name in table and table[name].unwrap() == addition.value:
            del table[name]
            if not table:
                del document[parent]
    after = _checked(tomlkit.dumps(document))
    return after if after.strip() else None


def _parse_toml(text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise GoloreError(f"It is not valid TOML: {error}. Correct the file and try again.") from error


def _checked(text: str) -> str:
    """Check that another parser than the one that wrote the text can read it."""
    tomllib.loads(text)
    return text
