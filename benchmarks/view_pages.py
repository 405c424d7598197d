"""Looks at the pages of `golore view` in a real browser: light and dark, 1,400 and 400 pixels wide.

    python benchmarks/view_pages.py ROOT [--pictures DIRECTORY] [PAGE...]

ROOT is a learned repository; pages are given, or chosen, as for `benchmarks/view.py`. For each page and look: what axe
finds (by impact; see tests/support/page_check.py for how it is installed), milliseconds until the first content is
drawn, pixels that are too wide, the most boxes in a drawing, errors on the console, and requests to other machines.
`--pictures` saves a picture of each. The exit code is 1 if something is wrong on any page: a serious or critical
finding, a page that is too wide, an error, a request to the outside, or a drawing above 80 boxes.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.browser import browser_tab
from support.page_check import INSTALL_AXE, LOOKS, Seen, axe_program, see
from support.viewed import viewing
from view import chosen_pages

_TALLEST = 2_400
_MOST_BOXES = 80


def is_wrong(seen: Seen) -> bool:
    return (
        any(one.is_serious for one in seen.findings)
        or seen.overflow > 0
        or seen.boxes > _MOST_BOXES
        or bool(seen.errors or seen.outside)
    )


def printed(seen: Seen, look: str, page: str) -> None:
    impacts = Counter(one.impact for one in seen.findings)
    found = ", ".join(f"{number} {impact}" for impact, number in sorted(impacts.items())) or "none"
    wrong = len(seen.errors) + len(seen.outside)
    print(f"{look:>10}{seen.paint:8.0f}{seen.overflow:6}{seen.boxes:6}{wrong:7}  {found:14} {page or 'start'}")
    for one in seen.findings:
        print(f"{'':12}{one.impact} {one.rule}, {one.elements} elements: {one.example}")
    for text in (*seen.errors, *seen.outside):
        print(f"{'':12}{text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    path = axe_program()
    if path is None:
        sys.exit(INSTALL_AXE)
    axe = path.read_text(encoding="utf-8")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    pages = options.pages or [page for page in chosen_pages(root) if not page.startswith("quick")]
    print(f"{'look':>10}{'paint':>8}{'wide':>6}{'boxes':>6}{'errors':>7}  {'axe':14} page")
    is_right = True
    with (
        tempfile.TemporaryDirectory() as profile,
        viewing(root, "--port=0") as viewed,
        browser_tab(Path(profile)) as tab,
    ):
        for page in pages:
            viewed.get(page)  # warm, as the figures of `view.py`
            for look in LOOKS:
                seen = see(tab, f"{viewed.base}/{page}", look, (viewed.base,), axe)
                is_right = is_right and not is_wrong(seen)
                printed(seen, str(look), page)
                if options.pictures:
                    height = min(_TALLEST, tab.evaluate("document.documentElement.scrollHeight"))
                    tab.look(width=look.width, height=height, dark=look.dark)
                    name = f"{re.sub(r'[^A-Za-z0-9]+', '-', page).strip('-')[:60] or 'start'}-{look}.png"
                    (options.pictures / name).write_bytes(tab.screenshot())
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
