"""Reads the table `[hooks]` of a store's `settings.toml`.

A file with only plain values is parsed here, because importing tomllib takes longer than the rest of a hook. Any other
file is parsed by tomllib.
"""

from golore.graph.safety.regular_file import SETTINGS_LIMIT, read_regular

_BOOLEANS = {"true": True, "false": False}


def read_hook_settings(path: str, *, follow: bool = False) -> dict[str, bool | int]:
    """The values of the table. `follow`: the file may be a link. Raises `ValueError` if the file is not valid."""
    text = read_regular(path, SETTINGS_LIMIT, follow=follow).decode()
    values = _plain(text)
    if values is None:
        import tomllib

        values = tomllib.loads(text).get("hooks", {})
    for name, kind in (("enabled", bool), ("relearn", bool), ("turn_end", bool), ("budget", int)):
        if name in values and type(values[name]) is not kind:
            raise ValueError(f"hooks.{name} must be of type {kind.__name__}")
    return values


def _plain(text: str) -> dict[str, bool | int] | None:
    """The values of `[hooks]`, if all tables are plain and these values are booleans and numbers; else None."""
    values: dict[str, bool | int] = {}
    table = ""
    seen: set[str] = set()
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words[0]
        if len(words) == 1 and name[1:-1].isidentifier() and name == f"[{name[1:-1]}]":
            table = name
        elif not table or words[1:2] != ["="] or not name.isidentifier():
            return None
        elif table != "[hooks]":
            if not _is_simple(line):
                return None
        elif len(words) == 3 and (value := _value(words[2])) is not None:
            values[name] = value
        else:
            return None
        if f"{table} {name}" in seen:
            return None
        seen.add(f"{table} {name}")
    return values


def _value(word: str) -> bool | int | None:
    is_number = word.isascii() and word.isdecimal() and (word == "0" or word[0] != "0")
    return int(word) if is_number else _BOOLEANS.get(word)


def _is_simple(line: str) -> bool:
    """Whether a line of another table is complete: its value is a string without escapes, a boolean or a number."""
    value = line.partition("=")[2].strip()
    if value[:1] == '"':
        inner, quote, rest = value[1:].partition('"')
        return quote == '"' and "\\" not in inner and (not rest.strip() or rest.strip()[0] == "#")
    return _value(value.partition("#")[0].strip()) is not None
