"""Looks at a page as users do: in narrow and wide windows, light and dark, and with axe, which finds what keeps people
from using it.

axe is not installed by the tests: `npm install --prefix build axe-core` puts it where it is found; `GOLORE_AXE` names
another `axe.min.js`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.browser import Tab

INSTALL_AXE: Final = "no axe: npm install --prefix build axe-core, or set GOLORE_AXE to the path of axe.min.js"
_AXE: Final = Path(__file__).resolve().parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"
_SERIOUS: Final = ("serious", "critical")
_FIRST_PAINT: Final = (
    "new Promise((done) => { const paint = () => performance.getEntriesByName('first-contentful-paint')[0]; "
    "const look = () => paint() ? done(paint().startTime) : requestAnimationFrame(look); look(); })"
)


class Look(NamedTuple):
    width: int
    dark: bool

    def __str__(self) -> str:
        return f"{self.width}-{'dark' if self.dark else 'light'}"


LOOKS: Final = tuple(Look(width, dark) for width in (1400, 400) for dark in (False, True))


class Finding(NamedTuple):
    """What axe found: the rule, how bad it is, how many elements it is about, and the first of them."""

    impact: str
    rule: str
    elements: int
    example: str

    @property
    def is_serious(self) -> bool:
        return self.impact in _SERIOUS


class Seen(NamedTuple):
    """`paint`: milliseconds until the first content was drawn. `overflow`: pixels that the page is wider than the
    window. `boxes`: the most boxes in a drawing."""

    findings: tuple[Finding, ...]
    paint: float
    overflow: int
    boxes: int
    errors: tuple[str, ...]
    outside: tuple[str, ...]


def axe_program() -> Path | None:
    """The path of axe, if there is one."""
    path = Path(os.environ.get("GOLORE_AXE", "") or _AXE)
    return path if path.is_file() else None


def see(tab: Tab, address: str, look: Look, own: tuple[str, ...], axe: str = "") -> Seen:
    """Open a page. `own` are the beginnings of addresses that it may ask for. Without `axe`, nothing is found."""
    tab.open("about:blank")  # after it, the page before asks for nothing more
    tab.errors.clear()
    tab.requests.clear()
    tab.look(width=look.width, dark=look.dark)
    tab.open(address)
    paint: float = tab.evaluate(_FIRST_PAINT)
    overflow: int = tab.evaluate(f"document.documentElement.scrollWidth - {look.width}")
    boxes: int = tab.evaluate(
        "Math.max(0, ...[...document.querySelectorAll('svg')].map((one) => one.querySelectorAll('.box').length))"
    )
    errors, requests = tuple(tab.errors), tuple(tab.requests)
    outside = tuple(one for one in requests if not one.startswith((*own, "data:", "blob:", "about:")))
    return Seen(_findings(tab, axe) if axe else (), paint, max(0, overflow), boxes, errors, outside)


def _findings(tab: Tab, axe: str) -> tuple[Finding, ...]:
    tab.evaluate(f"{axe};0")
    found: list[dict[str, Any]] = tab.evaluate(
        "axe.run({ resultTypes: ['violations'] }).then((result) => result.violations.map((one) => ({"
        " impact: one.impact, rule: one.id, elements: one.nodes.length, example: one.nodes[0].html.slice(0, 200) })))"
    )
    return tuple(Finding(**one) for one in found)
