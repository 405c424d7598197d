"""Every error golore raises on purpose.

GoloreError
├── UsageError            the command was asked for something that cannot be (exit code 2)
├── RepositoryError       the tree to learn cannot be read as one
├── ToolchainError        the Go toolchain is missing or failed
├── ModelError            a language model gives no text that can be used
│   ├── ModelUnavailable  its server is not there, or does not have it: nothing more can be asked
│   └── AnswerBroken      one answer failed: the next may come
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


class ModelError(GoloreError):
    pass


class ModelUnavailable(ModelError):
    pass


class AnswerBroken(ModelError):
    """`is_passing`: asked again after a while, it may work."""

    def __init__(self, sentence: str, *, is_passing: bool = False) -> None:
        super().__init__(sentence)
        self.is_passing = is_passing


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
