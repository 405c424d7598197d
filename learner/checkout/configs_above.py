"""The module files above a repository: the nearest go.mod and go.work, which Go uses if the repository has none."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular


class ConfigFile(NamedTuple):
    """A go.mod, go.work or vendor/modules.txt. The path of a file above the root begins with `../`."""

    path: str
    data: bytes


def _is_temporary(directory: Path) -> bool:
    import tempfile  # few repositories are below a go.mod

    return directory == Path(tempfile.gettempdir())


def configs_above(root: Path, known_paths: Iterable[str]) -> list[ConfigFile]:
    """The nearest go.mod and go.work above the root, each only if `known_paths` has none in the root itself."""
    configs: list[ConfigFile] = []
    for name in {"go.mod", "go.work"}.difference(known_paths):
        for level, directory in enumerate(root.parents, 1):
            path = directory / name
            # Go ignores a go.mod directly in the temporary directory, where anyone can create one.
            if path.is_file() and not _is_temporary(directory):
                # The file is outside the tree to learn: if it cannot be read, the tree is learned without it.
                with suppress(OSError):
                    configs.append(ConfigFile("../" * level + name, read_regular(path, SOURCE_LIMIT, follow=True)))
                break
    return configs
