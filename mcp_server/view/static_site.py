"""`golore view --once`: writes pages of a repository as files, to attach or to keep as an artifact of a build.

Large repositories are not written whole: the most important files and the most used declarations have pages, and names
of others are text. The pages need no server and no JavaScript.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from golore.graph.errors import UsageError
from golore.mcp_server.view.links import Links, file_name, page_key
from golore.mcp_server.view.overview import Overview
from golore.mcp_server.view.pages.change import change_page
from golore.mcp_server.view.pages.knowledge import knowledge_page
from golore.mcp_server.view.pages.map import TREEMAP, map_page
from golore.mcp_server.view.pages.source import file_page
from golore.mcp_server.view.pages.start import start_page
from golore.mcp_server.view.pages.symbol import symbol_page
from golore.mcp_server.view.rendering import DATA, Frame, Page, render
from golore.mcp_server.view.site import Site, notices_of
from golore.mcp_server.view.visit import Visit, parent_directories

_FILES: Final = 300
_DIRECTORIES: Final = 200
_SYMBOLS: Final = 500
_ASSETS: Final = ("view.css", "icon.svg")
_Build = Callable[[Visit], Page]


def write_site(site: Site, directory: Path, diff: str | None = None) -> int:
    """Write the pages into a new or empty directory. Returns their number. `diff`: the base of a change that gets
    a page, empty for the working tree."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is not an empty directory. Name another one.")
    with site.visit() as visit:
        overview = site.overview(visit)
        pages = dict(_pages(visit, overview))
        if diff is not None:
            pages["change"] = lambda visit: change_page(visit, diff)
        frame = Frame(visit.repository_name, "", notices_of(visit.opened))
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in _ASSETS:
        shutil.copyfile(DATA / "static" / name, directory / "assets" / name)
    links = Links("", pages.keys())
    for key, build in pages.items():
        with site.visit(links) as visit:  # one by one, so that a learn need not wait for all
            text = render(build(visit), links, frame)
        (directory / file_name(key)).write_text(text, encoding="utf-8")
    return len(pages)


def _pages(visit: Visit, overview: Overview) -> Iterator[tuple[str, _Build]]:
    yield "", lambda visit: start_page(visit, overview)
    yield "knowledge", knowledge_page
    directories = {parent for one in overview.files for _, parent in parent_directories(one.path)}
    for directory in sorted(directories, key=lambda path: (path.count("/"), path))[:_DIRECTORIES]:
        yield f"map/{directory}", lambda visit, directory=directory: map_page(visit, overview, directory, "", "")
    yield "map/", lambda visit: map_page(visit, overview, "", "", "")
    yield page_key("map/", {"show": TREEMAP}), lambda visit: map_page(visit, overview, "", TREEMAP, "")
    by_rank = sorted((one for one in overview.files if not one.test), key=lambda one: (-one.rank, one.path))
    for one in by_rank[:_FILES]:
        for start in range(1, max(1, one.lines) + 1, visit.links.window):
            query = {"from": str(start)} if start > 1 else {}
            yield (
                page_key(f"file/{one.path}", query),
                lambda visit, one=one, start=start: file_page(visit, one.path, start),
            )
    statement = (
        "MATCH (s:Symbol)<-[:CALLS|REFERENCES]-() WHERE s.kind <> 'field' AND NOT s.file ENDS WITH '_test.go' "
        f"RETURN s.id, count(*) AS users ORDER BY users DESC, s.id LIMIT {_SYMBOLS}"
    )
    for id, _ in visit.store.rows(statement):
        yield f"symbol/{id}", lambda visit, id=id: symbol_page(visit, id)
