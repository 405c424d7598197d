"""Keeps the tests away from the user's own state: each test process has a state directory of its own."""

from __future__ import annotations

import os
import tempfile

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="golore-state-")
