"""Adds golore's entries to the text of a configuration file, and removes them.

The files belong to the user. Entries of golore are recognized by the command that they run, so that those of an older
golore are updated. An MCP server named golore that golore did not write is left alone.
"""

from __future__ import annotations

from golore.mcp_server.install import json_edits, toml_edits
from golore.mcp_server.install.agent_configs import Addition, AgentFile
from golore.mcp_server.install.json_edits import Json
from golore.mcp_server.install.launch_commands import is_our_command, is_our_server


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
        elif current != addition.value and is_our_server(current):
            text = json_edits.replace(text, addition.path, addition.value)
        elif current != addition.value:
            remarks.append(f"{target.file} already has another {'.'.join(addition.path)}; it was not changed.")
    return text, tuple(remarks)


def remove_entries(text: str, target: AgentFile, agent: str, original: str | None) -> str | None:
    """The text without golore's entries; None if golore created the file and nothing else is left in it.

    `original` is the text before the installation, None if there was no file. Objects and arrays that were empty in
    it are kept, and so are comments. A text without entries of golore is returned as it is.
    """
    if target.file.suffix == ".toml":
        return _removed_from_toml(text, target, original)
    before = text
    initial = json_edits.loads(original) if original is not None and original.strip() else {}
    for addition in target.additions:
        with_entry = text
        if addition.is_item:
            text = _without_items(text, addition.path, agent)
        elif is_our_server(json_edits.get(json_edits.loads(text), addition.path)):
            text = json_edits.remove(text, addition.path)
        if text != with_entry:
            text = _without_empty(text, addition.path, initial)
    if text == before or original is not None or json_edits.has_comments(text):
        return text
    frame = {addition.path[0]: addition.value for addition in target.frame}
    return None if json_edits.loads(text) in ({}, frame) else text


def _without_empty(text: str, path: tuple[str, ...], initial: Json) -> str:
    """The text without the objects and arrays on a path that are empty, and were not in the original."""
    for depth in range(len(path), 0, -1):
        outer = path[:depth]
        if json_edits.get(json_edits.loads(text), outer) in ({}, []) and json_edits.get(initial, outer) is None:
            text = json_edits.remove(text, outer)
    return text


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
    remarks: list[str] = []
    for addition in target.additions:
        parent, name = addition.path
        current = toml_edits.get(text, parent, name)
        if current is None:
            text = toml_edits.insert(text, parent, name, addition.value)
        elif current != addition.value and is_our_server(current):
            text = toml_edits.insert(toml_edits.remove(text, parent, name), parent, name, addition.value)
        elif current != addition.value:
            remarks.append(f"{target.file} already has another {parent}.{name}; it was not changed.")
    return text, tuple(remarks)


def _removed_from_toml(text: str, target: AgentFile, original: str | None) -> str | None:
    before = text
    for addition in target.additions:
        parent, name = addition.path
        if is_our_server(toml_edits.get(text, parent, name)):
            text = toml_edits.remove(text, parent, name)
    return None if text != before and original is None and not text.strip() else text
