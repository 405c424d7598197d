"""Opens and reads regular files only, without following a link in the last part of the path, and with a size limit.

A repository may contain links to other files of the user, devices and pipes, under every name that golore reads.

Runs in the hook process: imports only `os`, `stat` and `system`.
"""

import errno
import os
import stat

from golore.graph.safety.system import BINARY, NO_FOLLOW

SOURCE_LIMIT = 8 << 20
"""The largest Go file, module file or document that is read, in bytes."""
SETTINGS_LIMIT = 1 << 20
"""The largest settings file that is read, in bytes."""
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe that nobody writes to must not block."""


class NotRegularError(OSError):
    """The path is a link, a directory, a device, a pipe or a socket."""


class TooLargeError(OSError):
    """The file is larger than the limit of the reader."""


def open_regular(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, mode: int = 0o600, *, follow: bool = False
) -> int:
    """Open a regular file and return its descriptor. `follow` permits a link to a regular file."""
    no_follow = 0 if follow else NO_FOLLOW
    if not follow and not no_follow and os.path.islink(path):
        raise NotRegularError(errno.ELOOP, "is not a regular file", os.fspath(path))
    try:
        descriptor = os.open(path, flags | no_follow | _NO_BLOCK | BINARY, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
            raise NotRegularError(error.errno, "is not a regular file", os.fspath(path)) from error
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(errno.EINVAL, "is not a regular file", os.fspath(path))


def read_regular(path: str | os.PathLike[str], limit: int, *, follow: bool = False) -> bytes:
    """Read a regular file of at most `limit` bytes."""
    descriptor = open_regular(path, follow=follow)
    try:
        pieces: list[bytes] = []
        left = limit + 1
        while left and (piece := os.read(descriptor, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(descriptor)
    if not left:
        raise TooLargeError(errno.EFBIG, f"is larger than {limit:,} bytes", os.fspath(path))
    return b"".join(pieces)


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise `NotRegularError` if the path is something else, for libraries that open files themselves."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularError(errno.EINVAL, "is not a regular file", os.fspath(path))
