"""Compiles the hot modules to C with mypyc, where a C compiler works; everything else is in pyproject.toml.

A hot module is ordinary typed Python and runs as such when it is not compiled: with `GOLORE_PURE=1`, without a compiler
or Python's headers, or when the compiler fails. The install succeeds all the same, and `golore doctor` tells. A type
error in a hot module is our mistake and does stop the build.

mypyc names a module after its path, and our folders are not named as they are imported: the sources are copied to
build/hot/tree/golore/ and compiled there. The libraries are kept in build/hot/kept/ by the digest of all that went into
them, because an editable install is built again after every edit, and few edits concern a hot module.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

COMPILED: tuple[str, ...] = ()
"""The hot modules, by the names they are imported by. They are compiled together, into one library."""

GROUP = "golore.learner.hot"
ROOT = Path(__file__).resolve().parent
TREE = ROOT / "build" / "hot" / "tree"
KEPT = ROOT / "build" / "hot" / "kept"
KEEP_AT_MOST = 8
EXT_SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
MYPY_OPTIONS = (
    "--config-file=",
    "--namespace-packages",
    "--explicit-package-bases",
    "--follow-imports=silent",
    "--ignore-missing-imports",
    f"--cache-dir={ROOT / 'build' / 'hot' / 'mypy'}",
)
COMPILING_COMMANDS = {"bdist_wheel", "build", "build_ext", "editable_wheel", "install"}
BUILD_FAULTS = (BaseError, CCompilerError, OSError)


def source_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")


def imports_of(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("golore."):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("golore."))


def hot_sources() -> list[Path]:
    """The hot modules and what they import of ours: all that the generated code depends on."""
    found: set[Path] = set()
    waiting = [source_of(module) for module in COMPILED]
    if missing := [str(path) for path in waiting if not path.exists()]:
        sys.exit(f"setup.py lists hot modules that do not exist: {', '.join(missing)}")
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(other for other in map(source_of, imports_of(path)) if other.exists())
    return sorted(found)


def kept_folder() -> Path:
    settings = (sys.version, sysconfig.get_platform(), version("mypy"), os.environ.get("CC"), os.environ.get("CFLAGS"))
    parts = hashlib.blake2b(repr(settings).encode(), digest_size=8)
    for path in (ROOT / "setup.py", *hot_sources()):
        parts.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    return KEPT / f"{sys.implementation.cache_tag}-{parts.hexdigest()}"


def reason_to_stay_pure() -> str:
    """Why nothing can be compiled here, found out by compiling a line of C; empty when it can."""
    if os.environ.get("GOLORE_PURE", "0") not in ("", "0"):
        return "GOLORE_PURE is set"
    try:
        version("mypy")
    except PackageNotFoundError:
        return "mypy is not installed beside setuptools"
    # Not at the top: setuptools has to be imported first, to put its own copy in the place of distutils.
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler, get_python_inc

    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text("#include <Python.h>\nPyObject *probe(void) { return PyLong_FromLong(1); }\n")
        compiler = new_compiler()
        customize_compiler(compiler)
        try:
            objects = compiler.compile([str(probe)], output_dir=folder, include_dirs=[get_python_inc()])
            if compiler.compiler_type != "msvc":  # it wants a list of exports, and has found its linker by now
                compiler.link_shared_object(objects, str(Path(folder, "probe.so")))
        except BUILD_FAULTS as fault:
            return f"no working C compiler: {fault}"
    return ""


def run_mypyc() -> list[Extension]:
    from mypyc.build import mypycify

    shutil.rmtree(TREE, ignore_errors=True)
    for path in hot_sources():
        copy = TREE / "golore" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    paths = [f"{module.replace('.', '/')}.py" for module in COMPILED]
    # From inside the tree, so that tracebacks name golore/learner/x.py and not a folder of this machine.
    os.chdir(TREE)
    try:
        made = mypycify(
            [*MYPY_OPTIONS, *paths],
            only_compile_paths=paths,
            opt_level="3",
            debug_level="0",
            target_dir=str(TREE.with_name("c")),
            group_name=GROUP,
        )
        return cast(list[Extension], made)  # mypyc takes setuptools' class when that is loaded, but does not say so
    finally:
        os.chdir(ROOT)


def extensions() -> list[Extension]:
    """What to build; those that are kept from an earlier build need no sources."""
    if not COMPILED or COMPILING_COMMANDS.isdisjoint(sys.argv):
        return []
    if reason := reason_to_stay_pure():
        print(f"golore: installing pure Python, which is slower ({reason})", file=sys.stderr)
        return []
    kept = kept_folder()
    libraries = sorted(path.relative_to(kept) for path in kept.rglob(f"*{EXT_SUFFIX}"))
    if libraries:
        return [Extension(path.as_posix().removesuffix(EXT_SUFFIX).replace("/", "."), []) for path in libraries]
    return run_mypyc()


class BuildHot(build_ext):
    """Builds all hot modules or none: half of them would not import."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.inplace = False  # an editable install wants them in its link tree, not among our sources

    def run(self) -> None:
        try:
            super().run()
        except BUILD_FAULTS as fault:
            print(f"golore: installing pure Python, which is slower (compiling failed: {fault})", file=sys.stderr)
            for output in self.get_outputs():
                Path(output).unlink(missing_ok=True)
            self.extensions = []

    def build_extensions(self) -> None:
        kept = kept_folder()
        built = [Path(f"{extension.name.replace('.', '/')}{EXT_SUFFIX}") for extension in self.extensions]
        if not kept.exists():
            super().build_extensions()
            keep(Path(self.build_lib), built, kept)
        else:
            for path in built:
                target = Path(self.build_lib, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(kept / path, target)


def keep(build_lib: Path, built: list[Path], kept: Path) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    # Filled aside and then renamed, so that a killed build leaves nothing that looks whole.
    aside = Path(tempfile.mkdtemp(dir=KEPT))
    for path in built:
        target = aside / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(build_lib / path, target)
    aside.replace(kept)
    for old in sorted(KEPT.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[KEEP_AT_MOST:]:
        shutil.rmtree(old, ignore_errors=True)


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildHot})
