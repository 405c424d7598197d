"""The table `[hooks]` of a store's `settings.toml`.

Files with nothing but plain values are read here, because tomllib and what it imports take longer than all the rest of
a hook; for any other file tomllib decides.
"""

_WORDS = {"true": True, "false": False}


def read_hook_settings(path: str) -> dict[str, bool | int]:
    """The values; a ValueError says what is wrong with the file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    values = _plain(text)
    if values is None:
        import tomllib

        values = tomllib.loads(text).get("hooks", {})
    for name, kind in (("enabled", bool), ("relearn", bool), ("budget", int)):
        if name in values and type(values[name]) is not kind:
            raise ValueError(f"hooks.{name} is not of the right type")
    return values


def _plain(text: str) -> dict[str, bool | int] | None:
    """The values of a file that has one table, of words and numbers; None for one that may say more."""
    values: dict[str, bool | int] = {}
    table = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words == ["[hooks]"] and not table:
            table = words[0]
        elif table and len(words) == 3 and words[1] == "=" and words[0].isidentifier() and words[0] not in values:
            name, _, value = words
            number = value.isascii() and value.isdecimal() and (value == "0" or value[0] != "0")
            if value not in _WORDS and not number:
                return None
            values[name] = int(value) if number else _WORDS[value]
        else:
            return None
    return values
