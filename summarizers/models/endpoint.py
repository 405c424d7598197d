"""Where a model server is, and how to connect to it: whether it is on this machine, without detours to another one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, TypedDict
from urllib.parse import urlsplit

OLLAMA_HOST: Final = "http://127.0.0.1:11434"
_AMBIGUOUS: Final = re.compile(r"[\\@\s\x00-\x1f]")
"""Characters that two parsers of URLs may read in two ways, one of them a host of this machine."""


class ClientOptions(TypedDict):
    follow_redirects: bool
    trust_env: bool


def is_loopback(host: str) -> bool:
    if _AMBIGUOUS.search(host):
        return False
    try:
        name = urlsplit(host if "//" in host else f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def client_options(host: str) -> ClientOptions:
    """Options for `httpx.Client`. No redirect is followed, because it may lead to a server that nobody agreed to. A
    server on this machine is not contacted through a proxy that the environment names."""
    return ClientOptions(follow_redirects=False, trust_env=not is_loopback(host))


def ollama_host(environ: Mapping[str, str] = os.environ) -> str:
    """The server that Ollama's variable names, or the default. The address that a server listens on for all networks,
    0.0.0.0, is this machine for a client."""
    host = environ.get("OLLAMA_HOST", "").strip()
    return re.sub(r"^((?:https?://)?)(?:0\.0\.0\.0|\[::\])(?=[:/]|$)", r"\g<1>127.0.0.1", host) or OLLAMA_HOST
