"""Takes the pictures of `golore view` in docs/pictures/: four pages of a learned repository, in a real browser.

    uv run python docs/pictures.py /path/to/learned/chi

The pages are those of github.com/go-chi/chi. Needs Chromium (see tests/support/browser.py).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from support.browser import browser_tab  # noqa: E402  after its folder is on the path
from support.viewed import viewing  # noqa: E402

WIDTH, HEIGHT = 1040, 580
PAGES = {
    "start": "",
    "symbol": "symbol/github.com/go-chi/chi/v5.Mux.ServeHTTP",
    "file": "file/tree.go#L120",
    "map": "map/?show=treemap&colour=changes",
}


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    directory = DOCS / "pictures"
    directory.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, viewing(root) as viewed, browser_tab(Path(profile)) as tab:
        tab.look(width=WIDTH, height=HEIGHT)
        for name, page in PAGES.items():
            tab.open(f"{viewed.base}/{page}")
            picture = tab.screenshot()
            (directory / f"{name}.png").write_bytes(picture)
            print(f"{name}.png: {len(picture) // 1024} KB")


if __name__ == "__main__":
    main()
