"""`fixtures/shop`: a small Go module with interfaces, twins, a promoted method and an unresolved use.

The documentation uses it too.
"""

from __future__ import annotations

from pathlib import Path

SHOP = Path(__file__).resolve().parents[2] / "fixtures" / "shop"
FILES = {
    path.relative_to(SHOP).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SHOP.rglob("*"))
    if path.is_file() and ".golore" not in path.parts
}


def make_shop(root: Path) -> Path:
    """A copy that a test may learn and change."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
