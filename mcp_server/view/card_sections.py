"""The text of a card as sections, with a heading, a text and a list, and with links to the files that it names."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.mcp_server.view.rendering import linked_paths
from golore.mcp_server.view.visit import Visit
from markupsafe import Markup

_ITEM: Final = "- "
_LONGEST_HEADING: Final = 70
_HEADING_END: Final = re.compile(r"[.:] ")
_PATH: Final = re.compile(r"[\w./@+-]*[\w-]\.\w+")


class CardPart(NamedTuple):
    heading: str
    text: Markup
    items: tuple[Markup, ...]


def card_parts(visit: Visit, text: str, directory: str = "") -> list[CardPart]:
    """The sections of a card. The card of a package names the files of its `directory` without it."""
    known = _known(visit.store, text, directory)

    def shown(part: str) -> Markup:
        return linked_paths(part, visit.links, known)

    parts: list[CardPart] = []
    for line in text.splitlines():
        if line.startswith(_ITEM):
            last = parts.pop() if parts else CardPart("", Markup(), ())
            parts.append(last._replace(items=(*last.items, shown(line.removeprefix(_ITEM)))))
        else:
            heading, rest = _heading(line)
            parts.append(CardPart(heading, shown(rest), ()))
    return parts


def _heading(line: str) -> tuple[str, str]:
    """The heading of a line, and the rest: `Used from 2 files. Legend`, `Last commit: …`, `Interfaces:`."""
    for end in _HEADING_END.finditer(line, 0, _LONGEST_HEADING + 2):
        heading = line[: end.start()]
        # `Role (draft, stale: the code has changed): …` has its heading before the second colon.
        if heading.count("(") == heading.count(")"):
            return heading, line[end.end() :]
    if line.endswith((":", ".")) and len(line) <= _LONGEST_HEADING:
        return line[:-1], ""
    return "", line


def _known(store: Store, text: str, directory: str) -> dict[str, str]:
    """The files that a text names: name in the text → path."""
    names = sorted(set(_PATH.findall(text)))
    paths = {name: name for name in names}
    if directory:
        paths |= {f"{directory}/{name}": name for name in names if "/" not in name}
    given = {"paths": list(paths)}
    rows = [
        *store.rows("MATCH (f:File) WHERE f.id IN $paths RETURN f.id", given),
        *store.rows("MATCH (d:Doc) WHERE d.path IN $paths RETURN DISTINCT d.path", given),
    ]
    return {paths[path]: path for (path,) in sorted(rows, key=lambda row: "/" in row[0])}
