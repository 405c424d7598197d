"""Finds out, from code alone, whether an expression is a function, or names a package variable.

Functions that are stored in fields and variables run only if these are read, and variables have other values only after
something has set them: that decides which tests can run a function.
"""

from __future__ import annotations

from golore.learner.extraction import facts as f
from golore.learner.extraction import opcodes as c
from golore.learner.resolution.type_reader import TypeReader
from golore.learner.resolution.types import Declaration, DeclName, PackageName


class Places(TypeReader):
    """Looks ahead in the code; `Expressions` reads it."""

    def is_function(self) -> bool:
        """Whether the code that follows is a function literal, or a name without any call before it."""
        code, at = self.code, self.at
        while code[at] == c.SELECT or code[at] == c.STAR:
            at += 3 if code[at] == c.SELECT else 1
        return code[at] == c.NAME or code[at] == c.FUNCTION

    def set_variable(self, at: int) -> None:
        """Record that a package variable may change, if the expression at this position is one or a part of one."""
        recorder = self.recorder
        if recorder is not None:
            for decl in self.variable(at):
                recorder.sets.add(decl.id)

    def variable(self, at: int) -> list[Declaration]:
        """The package variable, with its twins, that the expression at this position is, or is a part of."""
        code = self.code
        member = -1
        while code[at] != c.NAME:
            op = code[at]
            if op == c.SELECT:
                member = at
                at += 3
            elif op == c.INDEX or op == c.SLICE:
                at += 2
            elif op == c.STAR:
                at += 1
            else:
                return []
        name = self.names[code[at + 1]]
        if name in self._scope:
            return []
        found = self.typer.lookup(self.file, name)
        decls: list[Declaration] = []
        if isinstance(found, DeclName):
            decls = found.decls
        elif isinstance(found, PackageName) and member >= 0:
            package = found.package
            if package is not None and not package.external:
                decls = package.members.get(self.names[code[member + 1]], [])
        return [decl for decl in decls if decl.kind == f.VAR]

    def is_whole(self, at: int) -> bool:
        """Whether an expression that is a package variable, or a part of one, is the variable itself."""
        code = self.code
        if code[at] == c.NAME:
            return True
        if code[at] != c.SELECT or code[at + 3] != c.NAME:
            return False
        return isinstance(self.typer.lookup(self.file, self.names[code[at + 4]]), PackageName)

    def is_delayed(self) -> bool:
        """Whether `sync.OnceFunc`, `OnceValue` or `OnceValues` follows, which call their argument later."""
        code, at = self.code, self.at
        if code[at] != c.SELECT or code[at + 3] != c.NAME or not self.names[code[at + 1]].startswith("Once"):
            return False
        package = self.typer.lookup(self.file, self.names[code[at + 4]])
        return isinstance(package, PackageName) and package.path == "sync"
