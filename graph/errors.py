"""Every error golore raises on purpose.

GoloreError
├── UsageError            the command was asked for something that cannot be (exit code 2)
├── RepositoryError       the tree to learn cannot be read as one
├── ToolchainError        the Go toolchain is missing or failed
└── StoreError            the store cannot be used
    ├── StoreMissing      there is no store here yet
    ├── StoreBusy         another process holds it
    ├── StoreMismatch     made by a newer golore, or by the other engine
    │   └── StoreOutdated made by an older golore: to be learned again
    └── StoreDamaged      it does not open or does not answer

A message is one sentence that says what is wrong, and, where there is something to do, a second one that says what.
Bad Go is not an error: it is a `Problem`, kept as data beside the facts of its file.
"""

from __future__ import annotations


class GoloreError(Exception):
    """The root of the tree; the command line prints its text and exits with `exit_code`."""

    exit_code = 1


class UsageError(GoloreError):
    exit_code = 2


class RepositoryError(GoloreError):
    pass


class ToolchainError(GoloreError):
    pass


class StoreError(GoloreError):
    pass


class StoreMissing(StoreError):
    pass


class StoreBusy(StoreError):
    pass


class StoreMismatch(StoreError):
    pass


class StoreOutdated(StoreMismatch):
    pass


class StoreDamaged(StoreError):
    pass
