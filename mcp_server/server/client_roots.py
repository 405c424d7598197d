"""The client's roots: the folders that are open in an editor which starts its servers somewhere else.

A server that was started in a repository does not ask. Roots are deprecated in the protocol of 2026-07-28, where a
server asks by returning a request for input; in older ones it sends a request of its own. Clients have them in both.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from golore.mcp_server.server.open_repositories import Repositories
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult, ListRootsRequest, ListRootsResult

_ROOTS: Final = "roots"
_INPUT_REQUIRED_SINCE: Final = "2026-07-28"


async def adopt_roots(repositories: Repositories | None, context: Context | None) -> InputRequiredResult | None:
    """Let a server without repositories have those of its client. Returns what the client must be asked first, if
    anything."""
    if repositories is None or not repositories.are_wanted or context is None or context.protocol_version is None:
        return None
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return None
    if context.protocol_version >= _INPUT_REQUIRED_SINCE:  # versions are dates
        answer = (context.input_responses or {}).get(_ROOTS)
        if answer is None:
            return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
        if isinstance(answer, ListRootsResult):
            repositories.adopt(_paths(answer))
        return None
    try:
        repositories.adopt(_paths(await context.session.send_request(ListRootsRequest(), ListRootsResult)))
    except MCPError as failure:
        logging.getLogger(__name__).warning("The client did not say its roots: %s", failure)
    return None


def _paths(answer: ListRootsResult) -> list[Path]:
    """The folders on this machine."""
    parts = [urlsplit(str(root.uri)) for root in answer.roots]
    return [
        Path(url2pathname(part.path)) for part in parts if part.scheme == "file" and part.netloc in ("", "localhost")
    ]
