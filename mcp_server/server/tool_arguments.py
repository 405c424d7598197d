"""The arguments of tools: their schema as clients get it, and the sentence for arguments that do not fit it."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

_UNSAID: Final[tuple[object, ...]] = ("", None, False, [])
"""Defaults that an argument has anyway if it is not given."""
_KINDS: Final = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_too_short": "is empty",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
}


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without titles, which repeat the names, and without defaults that say nothing. An agent pays for it in
    every session."""
    properties = {
        name: {
            key: value for key, value in one.items() if key != "title" and not (key == "default" and value in _UNSAID)
        }
        for name, one in schema.get("properties", {}).items()
    }
    return {key: value for key, value in schema.items() if key != "title"} | {"properties": properties}


def refusal(tool: str, failure: ValidationError) -> str:
    """One sentence for each argument that was refused, with what is accepted."""
    reasons = {
        ".".join(map(str, error["loc"])): _reason(error["type"], error.get("ctx", {}), error["msg"])
        for error in failure.errors(include_url=False)
    }
    return f"{tool}: {' '.join(f'`{name}` {reason}.' for name, reason in reasons.items())}"


def _reason(kind: str, context: dict[str, Any], message: str) -> str:
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    if "le" in context or "ge" in context or "gt" in context:
        limits = {"le": "at most", "ge": "at least", "gt": "more than"}
        return " and ".join(f"must be {limits[name]} {value}" for name, value in context.items() if name in limits)
    return _KINDS.get(kind, f"is not accepted: {message}")
