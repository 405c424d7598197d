"""The file that says who may ask a team server about which repositories. It has digests, so it contains no token.

    [anna]
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    repositories = ["github.com/acme/*"]
    rights = ["read", "write notes"]

It must be a regular file that only its owner, the user of the server, can read or write. A change takes effect with
the next request; while the file cannot be used, nobody is let in.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from golore.graph.errors import GoloreError, UsageError
from golore.graph.files.atomic_write import replacing
from golore.graph.safety.regular_file import NotRegularError, open_regular
from golore.graph.safety.system import NO_FOLLOW, permits_others

READ: Final = "read"
WRITE_NOTES: Final = "write notes"
PREFIX: Final = "golore_"
"""Begins every token, so that scanners for secrets recognise one."""
PER_SECOND: Final = 20
AT_ONCE: Final = 8
_LIMIT: Final = 1 << 20
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PATTERN: Final = re.compile(r"[A-Za-z0-9._~+/*-]{1,300}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_KEYS: Final = frozenset(("digest", "repositories", "rights", "per_second", "at_once"))


@dataclass(frozen=True, slots=True)
class Grant:
    """What the bearer of a token may do. In a pattern, `*` stands for any characters. `per_second` and `at_once` limit
    the requests that each process of a server accepts."""

    name: str
    digest: str
    patterns: tuple[str, ...]
    may_write: bool = False
    per_second: float = PER_SECOND
    at_once: int = AT_ONCE

    def permits(self, repository: str) -> bool:
        return any(fnmatchcase(repository, pattern) for pattern in self.patterns)


class TokenFile:
    """Reads the file again when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: tuple[int, ...] = ()
        self._grants: tuple[Grant, ...] = ()

    def grants(self) -> tuple[Grant, ...]:
        """Raises `GoloreError` if the file cannot be used."""
        try:
            found = os.stat(self.path, follow_symlinks=False)  # noqa: PTH116  on every request
        except OSError:
            self._state = ()
            return read_grants(self.path)
        state = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode, found.st_uid)
        if state != self._state:
            self._state = ()
            self._grants = read_grants(self.path)
            self._state = state
        return self._grants

    def grant_of(self, token: str) -> Grant | None:
        """What a token permits; None if it is unknown. Compares with all digests, in constant time."""
        digest = digest_of(token)
        found: Grant | None = None
        for grant in self.grants():
            if hmac.compare_digest(digest, grant.digest):
                found = grant
        return found


def digest_of(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read_grants(path: Path) -> tuple[Grant, ...]:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            if permits_others(os.fstat(file.fileno()), 0o077):
                raise GoloreError(f"Others can read {path}, or it is not yours. Run `chmod 600 {path}` as its owner.")
            data = file.read(_LIMIT + 1)
    except FileNotFoundError as failure:
        raise GoloreError(
            f"There is no file {path}. Make one with `golore serve --tokens {path} --new-token NAME`."
        ) from failure
    except NotRegularError as failure:
        raise GoloreError(f"{path} is a link or no regular file. Name the file of tokens itself.") from failure
    except OSError as failure:
        raise GoloreError(f"{path} cannot be read: {failure.strerror or failure}.") from failure
    if len(data) > _LIMIT:
        raise GoloreError(f"{path} has more than {_LIMIT:,} bytes. Remove old tokens.")
    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as failure:
        raise GoloreError(f"{path} is not a file of tokens: {failure}.") from failure
    grants = tuple(_grant(path, name, value) for name, value in document.items())
    if len({grant.digest for grant in grants}) < len(grants):
        raise GoloreError(f"{path} has the same digest twice. Give everybody a token of their own.")
    return grants


def add_token(path: Path, name: str, patterns: tuple[str, ...], *, may_write: bool) -> str:
    """Add a token to the file, which is made if it does not exist. Returns the token, which is stored nowhere."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a token. Use up to 64 letters, digits, `-` and `_`.")
    if not patterns:
        raise UsageError("Say which repositories the token is for: --repositories 'github.com/acme/*'.")
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise UsageError(f"{pattern!r} is no pattern for repositories. Write one like github.com/acme/*.")
    is_new = not path.exists() and not path.is_symlink()
    if not is_new and any(grant.name == name for grant in read_grants(path)):
        raise UsageError(f"{path} has a token of {name} already. Remove its lines first, or choose another name.")
    token = PREFIX + secrets.token_urlsafe(32)
    rights = [READ, WRITE_NOTES] if may_write else [READ]
    lines = [
        f"[{name}]",
        f'digest = "{digest_of(token)}"',
        f"repositories = [{', '.join(_quoted(pattern) for pattern in patterns)}]",
        f"rights = [{', '.join(_quoted(right) for right in rights)}]",
    ]
    before = b"" if is_new else path.read_bytes().rstrip(b"\n") + b"\n\n"
    _write_private(path, before.lstrip(b"\n") + "\n".join(lines).encode() + b"\n", is_new=is_new)
    return token


def _write_private(path: Path, data: bytes, *, is_new: bool) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"There is no directory {path.parent}. Create it first.")
    if is_new:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600))
    with replacing(path, durable=True, keep_status=True) as file:
        file.write(data)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _grant(path: Path, name: str, value: object) -> Grant:
    if not _NAME.fullmatch(name) or not isinstance(value, dict):
        raise GoloreError(f"{path}: {name} is not the name of a token. Write [NAME] above its values.")
    fields = cast("dict[str, Any]", value)
    unknown = sorted(fields.keys() - _KEYS)
    if unknown:
        raise GoloreError(f"{path}: {name}.{unknown[0]} is unknown. Known: {', '.join(sorted(_KEYS))}.")
    digest, rights = fields.get("digest"), _texts(fields.get("rights", [READ]))
    patterns = _texts(fields.get("repositories"))
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise GoloreError(f"{path}: {name}.digest is not a SHA-256 digest in hexadecimal digits.")
    if not patterns or not all(map(_PATTERN.fullmatch, patterns)):
        raise GoloreError(f"{path}: {name}.repositories must be a list of patterns like github.com/acme/*.")
    if READ not in rights or not set(rights) <= {READ, WRITE_NOTES}:
        raise GoloreError(f'{path}: {name}.rights must be ["{READ}"] or ["{READ}", "{WRITE_NOTES}"].')
    per_second, at_once = fields.get("per_second", PER_SECOND), fields.get("at_once", AT_ONCE)
    if type(per_second) not in (int, float) or type(at_once) is not int or per_second <= 0 or at_once <= 0:
        raise GoloreError(f"{path}: {name}.per_second and {name}.at_once must be positive numbers.")
    return Grant(name, digest, patterns, WRITE_NOTES in rights, per_second, at_once)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    items = cast("list[object]", value)
    return tuple(item for item in items if isinstance(item, str)) if all(isinstance(one, str) for one in items) else ()
