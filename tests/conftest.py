"""Makes the tests independent of the user's own state, of chance, and of how busy the machine is."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="golore-state-")

if hasattr(signal, "pthread_sigmask"):
    # A hook ends itself after three seconds, which a busy machine may need for it. Processes that tests start inherit
    # that the signal is blocked. Tests about it unblock it (see `support.alarm`).
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})


def pytest_configure(config: pytest.Config) -> None:
    """The default run tries the same examples every time, the slow run others."""
    is_default = config.getoption("-m") == "not slow"
    settings.register_profile(
        "golore", deadline=None, derandomize=is_default, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("golore")
