"""For tests of what `golore install` writes: it does not run the commands that it wrote, which takes seconds."""

from __future__ import annotations

import pytest
from golore.mcp_server.install import installer


def skip_trial(patch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> list[str]:
        return []

    patch.setattr(installer, "what_agent_sees", nothing)
