"""Types of a change: the files and the declarations that differ between two states of a repository.

`learner.changes` makes them from the facts of both states. Nothing here knows the graph.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

How = Literal["added", "removed", "signature", "body", "moved", "renamed"]
"""`signature`: what others see of it differs, such as parameters or the fields of a type. `body`: only the rest does,
such as the code of a function or the value of a variable. `moved`: to another file or package, otherwise the same.
`renamed`: the text is the same but for its own name or the name of its type."""


class Declared(NamedTuple):
    """A declaration, a field or an interface's method in one of the two states.

    `package` is the name in the package clause. `owner` is the name of the type of a method or field, with dots for
    nested fields. `test`: it is in a test file.
    """

    kind: str
    name: str
    owner: str
    package: str
    file: str
    line: int
    end_line: int
    signature: str

    @property
    def directory(self) -> str:
        return self.file.rpartition("/")[0]

    @property
    def test(self) -> bool:
        return self.file.endswith("_test.go")

    @property
    def local_name(self) -> str:
        """The name in its package, as in `Store.Save`."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


class DeclarationChange(NamedTuple):
    """How one declaration differs. `reason` is set if its text is the same: what else changed its meaning."""

    how: How
    before: Declared | None
    after: Declared | None
    reason: str = ""

    @property
    def current(self) -> Declared:
        """The declaration after the change; a removed one as it was."""
        declared = self.after or self.before
        assert declared is not None, "a change has at least one side"
        return declared

    @property
    def is_moved(self) -> bool:
        return self.before is not None and self.after is not None and self.before.file != self.after.file


class FileChange(NamedTuple):
    """A file that differs. `how` is `added`, `removed` or `edited`."""

    path: str
    how: str


class ChangeSet(NamedTuple):
    """All differences between two states, which `base` and `target` name for people.

    `untouched`: how many declarations differ only in comments or layout; they are not in `declarations`.
    """

    base: str
    target: str
    files: tuple[FileChange, ...]
    declarations: tuple[DeclarationChange, ...]
    untouched: int = 0


class OtherChanges(NamedTuple):
    """Files that differ and are no Go code, by what depends on them.

    `embedding`: the Go files, and variables in them, that embed one. `tested`: directories of packages whose tests read
    one. `built`: directories of packages that are built with one.
    """

    embedding: tuple[tuple[str, str], ...] = ()
    tested: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
