"""A lake's storage: a directory, or a bucket of S3 or Google Cloud Storage, through pyarrow's file systems.

The user names it; nothing in a repository can. Credentials come from the environment, as the vendors' own programs read
them, and are neither stored nor printed. Failures become a `LakeError` with one sentence.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from golore.graph.database.arrow import import_arrow
from golore.graph.errors import LakeError, UsageError

_PIECE: Final = 1 << 20
_CONNECT_SECONDS: Final = 10
_REQUEST_SECONDS: Final = 60
_S3_OPTIONS: Final = frozenset(("endpoint_override", "region", "scheme"))
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_REFUSED: Final = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|MISSING_AUTHENTICATION|SIGNATURE_DOES_NOT_MATCH|"
    r"UNRECOGNIZED_CLIENT|EXPIRED_TOKEN|PERMISSION_DENIED|UNAUTHENTICATED|HTTP response code: 40[13]",
    re.IGNORECASE,
)
_UNREACHABLE: Final = re.compile(
    r"NETWORK_CONNECTION|REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|SLOW_DOWN|curlCode|connect to server|connection|resolve|"
    r"timed? ?out|UNAVAILABLE|DEADLINE",
    re.IGNORECASE,
)
_NO_BUCKET: Final = re.compile(r"NO_SUCH_BUCKET|bucket.*(not (exist|found))", re.IGNORECASE)


class KeyInfo(NamedTuple):
    key: str
    size: int
    changed: datetime | None


class KeyDigest(NamedTuple):
    """Size and BLAKE2b digest of the bytes of a key."""

    size: int
    digest: str


class Lake:
    """Reads and writes keys. Open it with `open_lake`."""

    def __init__(self, name: str, system: Any, root: str) -> None:
        self.name = name
        self._system = system
        self._root = root
        self._is_local: bool = system.type_name == "local"

    def keys(self, prefix: str, *, temporary: bool = False) -> list[KeyInfo]:
        """All keys below a prefix, sorted. `temporary`: also what an interrupted writer left."""
        selector = _arrow_fs().FileSelector(self._path(prefix), recursive=True, allow_not_found=True)
        with self._errors(prefix):
            found = self._system.get_file_info(selector)
        if not found:
            self._require_bucket()
        start = len(self._root) + 1
        files = [one for one in found if one.is_file and (temporary or not one.base_name.startswith("."))]
        return sorted(KeyInfo(one.path[start:], one.size, one.mtime) for one in files)

    def names(self, prefix: str) -> list[str]:
        """Like `keys`, but only their names, in no order: a file system is not asked about every file."""
        if not self._is_local:
            return [info.key for info in self.keys(prefix)]
        found: list[str] = []
        folders = [prefix]
        with self._errors(prefix):
            while folders:
                folder = folders.pop()
                try:
                    entries = os.scandir(self._path(folder))
                except FileNotFoundError:
                    continue  # there is nothing yet, or its last key was just removed
                with entries:
                    for entry in entries:
                        if entry.is_dir():
                            folders.append(f"{folder}/{entry.name}")
                        elif not entry.name.startswith("."):
                            found.append(f"{folder}/{entry.name}")
        if not found:
            self._require_bucket()
        return found

    def _require_bucket(self) -> None:
        """Raise `LakeError` if the bucket or directory does not exist: nothing in it is something else than nothing at
        all."""
        if self._is_local:
            if not Path(self._root).is_dir():
                raise LakeError(f"The directory of the lake {self.name} is gone. Check whether its disk is mounted.")
            return
        try:
            info = self._system.get_file_info(self._root.partition("/")[0])
        except OSError:
            return  # who may list some keys only is not told whether the bucket exists
        if info.type == _arrow_fs().FileType.NotFound:
            raise LakeError(_no_bucket(self.name))

    def read(self, key: str, limit: int) -> bytes:
        """The bytes of a small key."""
        with self._errors(key), self._system.open_input_stream(self._path(key), compression=None) as stream:
            data: bytes = stream.read(limit + 1)
        if len(data) > limit:
            raise LakeError(f"{key} in the lake {self.name} has more than {limit:,} bytes, so it was not read.")
        return data

    def download(self, key: str, target: Path, expected: KeyDigest) -> None:
        """Copy a key to a file. Raises `LakeError` if it is not exactly what `expected` says."""
        digest, size = blake2b(digest_size=16), 0
        opened = self._system.open_input_stream
        with self._errors(key), opened(self._path(key), compression=None) as stream, target.open("xb") as file:
            while size <= expected.size and (piece := stream.read(_PIECE)):
                digest.update(piece)
                file.write(piece)
                size += len(piece)
        if KeyDigest(size, digest.hexdigest()) != expected:
            raise LakeError(f"{key} in the lake {self.name} is damaged: it is not what its publisher wrote.")

    def open_file(self, key: str) -> Any:
        """An Arrow file for random access."""
        with self._errors(key):
            return self._system.open_input_file(self._path(key))

    def write(self, key: str, content: bytes | Path) -> KeyDigest:
        """Write a key that does not exist yet. On a file system it appears complete; buckets do so by themselves."""
        path = PurePosixPath(self._path(key))
        temporary = path.with_name(f".{path.name}.tmp") if self._is_local else path
        digest, size = blake2b(digest_size=16), 0
        with self._errors(key):
            if self._is_local:
                self._system.create_dir(str(path.parent), recursive=True)
            with self._system.open_output_stream(str(temporary), compression=None) as stream:
                for piece in _pieces(content):
                    digest.update(piece)
                    stream.write(piece)
                    size += len(piece)
            if self._is_local:
                _sync(str(temporary))
                self._system.move(str(temporary), str(path))
        return KeyDigest(size, digest.hexdigest())

    def remove(self, key: str) -> None:
        """Delete a key; one that does not exist is no error."""
        with self._errors(key):
            try:
                self._system.delete_file(self._path(key))
            except FileNotFoundError:
                return
            if self._is_local:
                self._remove_empty(PurePosixPath(self._path(key)).parent)

    def _remove_empty(self, folder: PurePosixPath) -> None:
        while str(folder) != self._root:
            try:
                os.rmdir(folder)  # noqa: PTH106  refuses a directory that is not empty
            except OSError:
                return
            folder = folder.parent

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    @contextmanager
    def _errors(self, key: str) -> Generator[None]:
        try:
            yield
        except OSError as failure:
            raise LakeError(_sentence(failure, self.name, key)) from failure


def open_lake(name: str) -> Lake:
    """The lake with this address: a path, `file:`, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`."""
    found = _SCHEME.match(name)
    if found is None:
        return _local(name, name)
    parts = urlsplit(name)
    if parts.scheme == "file":
        return _local(name, unquote(parts.path))
    if parts.scheme not in ("s3", "gs"):
        raise UsageError(f"A lake is a directory, file:, s3:// or gs://, but not {found[1]}:. Choose another address.")
    if parts.username or parts.password:
        raise UsageError("The address of a lake must not contain credentials. Put them into the environment.")
    if not parts.netloc:
        raise UsageError(f"{name} names no bucket. Write {parts.scheme}://BUCKET/PREFIX.")
    root = f"{parts.netloc}/{parts.path.strip('/')}".rstrip("/")
    return Lake(f"{parts.scheme}://{root}", _s3(parts) if parts.scheme == "s3" else _gcs(parts), root)


def _local(name: str, path: str) -> Lake:
    root = Path(path).expanduser().resolve()
    if not root.is_dir():
        raise LakeError(f"There is no directory {root}. If that is where the lake should be, create it first.")
    return Lake(name, _arrow_fs().LocalFileSystem(), root.as_posix())


def _s3(parts: SplitResult) -> Any:
    options = dict(parse_qsl(parts.query))
    if options.keys() - _S3_OPTIONS:
        known = ", ".join(sorted(_S3_OPTIONS))
        raise UsageError(
            f"Unknown option in the address of the lake: {min(options.keys() - _S3_OPTIONS)}. Known: {known}."
        )
    arrow = _arrow_fs()
    try:
        return arrow.S3FileSystem(
            **options,
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_REQUEST_SECONDS,
            retry_strategy=arrow.AwsStandardS3RetryStrategy(max_attempts=3),
        )
    except OSError as failure:
        raise LakeError(_sentence(failure, parts.netloc, "")) from failure


def _gcs(parts: SplitResult) -> Any:
    if parts.query:
        raise UsageError("The address of a lake at Google has no options. Write gs://BUCKET/PREFIX.")
    from datetime import timedelta

    return _arrow_fs().GcsFileSystem(retry_time_limit=timedelta(seconds=_REQUEST_SECONDS))


def _sentence(failure: OSError, name: str, key: str) -> str:
    text = " ".join(str(failure).split())
    if isinstance(failure, PermissionError) or _REFUSED.search(text):
        return (
            f"The lake {name} refused access{f' to {key}' if key else ''}. Check the credentials in the environment, "
            "and what they may read and write."
        )
    if _NO_BUCKET.search(text):
        return _no_bucket(name)
    if isinstance(failure, FileNotFoundError):
        return f"{key} is not in the lake {name}: it was removed, or its publisher was interrupted."
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of the lake {name} is full. Free some space, for example with `golore fleet prune`."
    if _UNREACHABLE.search(text):
        return f"The lake {name} cannot be reached. Check the network and the address, then try again."
    return f"The lake {name} failed{f' at {key}' if key else ''}: {text[:200]}."


def _no_bucket(name: str) -> str:
    return f"The bucket of the lake {name} does not exist. Check the address."


def _pieces(content: bytes | Path) -> Generator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _sync(path: str) -> None:
    with Path(path).open("rb+") as file:
        os.fsync(file.fileno())


def _arrow_fs() -> Any:
    return import_arrow("pyarrow.compute", "pyarrow.fs").fs
