"""All exceptions that golore raises deliberately.

GoloreError
├── UsageError            the request is invalid (exit code 2)
│   └── ChangeTooLarge    more files differ than the caller wants to compare
├── RepositoryError       the directory cannot be learned as a Go repository
├── ToolchainError        the Go toolchain is missing or failed
├── LakeError             a lake, or one of its keys, cannot be read or written
├── ModelError            a language model returned no usable text
│   ├── ModelUnavailable  the model or its server is not available: further requests would fail as well
│   └── AnswerBroken      one answer failed: the next request may succeed
└── StoreError            the store cannot be used
    ├── StoreMissing      there is no store, or it has no graph yet
    ├── StoreUntrusted    not made by golore for this user at this path
    ├── StoreBusy         another process has locked it
    ├── StoreMismatch     made by a newer golore, with the other engine, or not by golore
    │   └── StoreOutdated made by an older golore: `golore learn` updates it
    └── StoreDamaged      it cannot be opened or queried
        ├── GraphDamaged  only its graph, which the next learn makes again
        └── CacheDamaged  only its cache, which the next learn makes again

A message is one sentence that says what is wrong, followed by one that says what to do, if anything can be done.
Invalid Go is not an error: it is a `Problem`, stored as data with the facts of its file.
"""

from __future__ import annotations


class GoloreError(Exception):
    """Base class of all errors. The command line prints the message and exits with `exit_code`."""

    exit_code = 1


class UsageError(GoloreError):
    """What was asked for does not exist or does not fit: a name, an option, a path, a query."""

    exit_code = 2


class ChangeTooLarge(UsageError):
    """`paths` are the Go files that differ."""

    def __init__(self, message: str, paths: tuple[str, ...]) -> None:
        super().__init__(message)
        self.paths = paths


class RepositoryError(GoloreError):
    pass


class ToolchainError(GoloreError):
    pass


class LakeError(GoloreError):
    pass


class ModelError(GoloreError):
    pass


class ModelUnavailable(ModelError):
    """The model, its files or its server are not available."""


class AnswerFailed(ModelError):
    """`is_passing`: the failure is temporary; the same request may succeed later."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class StoreError(GoloreError):
    """The store of a repository is missing, in use, damaged or made by something else."""


class StoreUntrusted(StoreError):
    pass


class StoreMissing(StoreError):
    """The repository has not been learned."""


class StoreBusy(StoreError):
    pass


class StoreMismatch(StoreError):
    pass


class StoreOutdated(StoreMismatch):
    pass


class StoreDamaged(StoreError):
    pass


class GraphDamaged(StoreDamaged):
    pass


class CacheDamaged(StoreDamaged):
    pass
