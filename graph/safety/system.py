"""What differs between Unix systems and Windows: locks, renames, owners, priorities, limits. No other module asks which
system it runs on to choose between calls of the operating system.

Windows was not available when this was written: its branches follow the documentation, and the workflow `tests` runs
them. On Windows, a file that a process has open can be neither replaced nor removed, directories cannot be opened, and
permissions are not in the mode of a file: a directory of the user's profile is private, and every file is taken for the
user's own.

Runs in the hook process: imports only `os` and `sys`; the others are imported where they are needed.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

BINARY = getattr(os, "O_BINARY", 0)
"""For `os.open`: without it, Windows changes line ends."""
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
LOCKS_ARE_INHERITED = sys.platform != "win32"
"""Whether a lock belongs to the open file, so that a child process that inherits the file holds it too."""
DETACHED = 0x208 if sys.platform == "win32" else 0
"""The `creationflags` of a process that outlives this one: DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP."""
NO_LIMIT = -1
_RENAME_PATIENCE = 2.0
"""Seconds in which Windows refuses a rename while another process, such as a virus scanner, reads the file."""
_LOCK_VIOLATION = 33
_CLONE_FILE = 0x40049409
"""FICLONE of Linux: makes a file share the blocks of another, on Btrfs, XFS and others."""


def try_lock(descriptor: int, *, exclusive: bool) -> bool:
    """Lock an open file without waiting. Returns False if another process holds it in a way that excludes this."""
    if sys.platform == "win32":
        import msvcrt

        import pywintypes
        import win32con
        import win32file

        flags = win32con.LOCKFILE_FAIL_IMMEDIATELY | (win32con.LOCKFILE_EXCLUSIVE_LOCK if exclusive else 0)
        try:
            win32file.LockFileEx(msvcrt.get_osfhandle(descriptor), flags, 0, 1, pywintypes.OVERLAPPED())
        except pywintypes.error as failure:
            if failure.winerror == _LOCK_VIOLATION:
                return False
            raise OSError(0, failure.strerror, None, failure.winerror) from failure
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Release the lock, also for processes that inherited the open file."""
    if sys.platform == "win32":
        import msvcrt

        import pywintypes
        import win32file

        win32file.UnlockFileEx(msvcrt.get_osfhandle(descriptor), 0, 1, pywintypes.OVERLAPPED())
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def rename_over(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file, and replace the target if it exists. Waits a little for a process that has it open on Windows."""
    retry_denied(lambda: os.replace(source, target), _RENAME_PATIENCE if sys.platform == "win32" else 0.0)


def retry_denied(action: "Callable[[], None]", patience: float) -> None:
    """Run the action, and again for at most `patience` seconds while it raises `PermissionError`."""
    from time import monotonic, sleep

    deadline = monotonic() + patience
    pause = 0.001
    while True:
        try:
            action()
        except PermissionError:
            if monotonic() >= deadline:
                raise
            sleep(pause)
            pause = min(pause * 2, 0.1)
        else:
            return


def open_directory(path: str | os.PathLike[str]) -> int:
    """Open a directory, so that no other gets its inode number; -1 on Windows, which does not reuse them so soon."""
    return -1 if sys.platform == "win32" else os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Make renames and removals in a directory survive a power failure. Windows cannot be asked to."""
    descriptor = open_directory(path)
    if descriptor >= 0:
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def user_id() -> int:
    """The owner of what this process creates, as `st_uid`, which is 0 on Windows."""
    return 0 if sys.platform == "win32" else os.geteuid()


def user_name(number: int) -> str:
    if sys.platform != "win32":
        import pwd

        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            pass
    return f"user {number}"


def permits_others(status: os.stat_result, permissions: int) -> bool:
    """Whether the file or directory gives others one of these permissions (bits of the mode), or is not the user's."""
    return sys.platform != "win32" and (status.st_uid != os.getuid() or bool(status.st_mode & permissions))


def set_mode(descriptor: int, mode: int) -> None:
    if sys.platform != "win32":
        os.fchmod(descriptor, mode)


def copy_owner(status: os.stat_result, descriptor: int) -> None:
    """Give an open file the owner, the group and the mode of another."""
    if sys.platform != "win32":
        found = os.fstat(descriptor)
        if (found.st_uid, found.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, status.st_mode & 0o7777)


def clone_file(source: int, target: int) -> bool:
    """Let two open files share their content on disk, until one is written to. False if the file system cannot."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _CLONE_FILE, source)
    except OSError:
        return False
    return True


def exit_after(seconds: float) -> None:
    """End this process after so many seconds with code 0, even if a call of the system blocks."""
    if sys.platform == "win32":
        import time
        from _thread import start_new_thread

        def exit_process() -> None:
            time.sleep(seconds)
            os._exit(0)

        start_new_thread(exit_process, ())
        return
    if TYPE_CHECKING:
        import signal
    else:
        import _signal as signal  # `signal` without its enums, which take a while to create

    signal.signal(signal.SIGALRM, lambda _number, _frame: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def set_alarm(seconds: float) -> None:
    """Let the kernel end this process after so many seconds; 0 cancels it. Windows has no such alarm."""
    if sys.platform != "win32":
        import signal

        signal.setitimer(signal.ITIMER_REAL, seconds)


def is_running(process: int) -> bool:
    """Whether there is a process with this number. True if it cannot be told, as on Windows, where the question is
    asked by killing it."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # a process of another user
    return True


def kill_session(process: int) -> None:
    """Kill a process that was started in a session of its own, and its children. On Windows they notice by themselves
    that it is gone."""
    import signal

    if sys.platform == "win32":
        os.kill(process, signal.SIGTERM)
    else:
        os.killpg(process, signal.SIGKILL)


def claim_port(listening: "socket.socket") -> None:
    """Before `bind`: let a server start again at once, but never share its port with another."""
    import socket

    # With SO_REUSEADDR, Windows would let another process bind the same port.
    option = socket.SO_EXCLUSIVEADDRUSE if sys.platform == "win32" else socket.SO_REUSEADDR
    listening.setsockopt(socket.SOL_SOCKET, option, 1)


def require_reader(descriptor: int) -> None:
    """Raise `BrokenPipeError` if nobody reads a pipe any more. Windows tells it only to the next write."""
    if sys.platform != "win32":
        import select

        poll = select.poll()
        poll.register(descriptor, 0)
        if any(event & select.POLLERR for _, event in poll.poll(0)):
            raise BrokenPipeError


def lower_priority() -> None:
    """Let other processes go first."""
    if sys.platform == "win32":
        import win32api
        import win32con
        import win32process

        win32process.SetPriorityClass(win32api.GetCurrentProcess(), win32con.IDLE_PRIORITY_CLASS)
    else:
        os.nice(19)


def physical_memory() -> int:
    """The memory of this machine, in bytes; 4 GB if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def data_limit() -> tuple[int, int]:
    """The limit of private memory of this process, and how far it may be raised; `NO_LIMIT` if there is none."""
    if sys.platform == "win32":
        return NO_LIMIT, NO_LIMIT
    import resource

    infinity = resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    return NO_LIMIT if soft == infinity else soft, NO_LIMIT if hard == infinity else hard


def set_data_limit(limit: int) -> None:
    """Limit the private memory of this process. Only Linux enforces it."""
    if sys.platform != "win32":
        import resource

        wanted = resource.RLIM_INFINITY if limit == NO_LIMIT else limit
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def forbid_core_dumps() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def after_fork_in_child(action: "Callable[[], None]") -> None:
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=action)
