"""Compiles the hot modules to C with mypyc, if a C compiler works; almost everything else is in pyproject.toml.

A hot module is ordinary typed Python and also runs uncompiled: with `GOLORE_PURE=1`, without a compiler or Python's
headers, or if the compiler fails. The install then succeeds, and `golore doctor` reports it. A type error in a hot
module is a bug in golore and stops the build.

mypyc names a module after its path, but our folders differ from the import names, so the sources are copied to a tree
below build/hot/ and compiled there. The results are kept, because an editable install is built again after every edit,
and few edits concern a hot module: if no source of the hot modules changed, the libraries are copied; otherwise only
those whose C code changed are compiled.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

COMPILED: tuple[str, ...] = (
    "golore.graph.cards.card_rows",
    "golore.graph.cards.card_sections",
    "golore.graph.cards.card_text",
    "golore.graph.cards.card_users",
    "golore.graph.cards.package_cards",
    "golore.graph.cards.page_rank",
    "golore.graph.cards.related_files",
    "golore.graph.cards.related_reasons",
    "golore.graph.explore.excerpts",
    "golore.graph.explore.proximity",
    "golore.graph.explore.question_terms",
    "golore.graph.explore.relevance",
    "golore.graph.explore.statements",
    "golore.graph.explore.term_hits",
    "golore.graph.history.co_change",
    "golore.graph.model.edge_columns",
    "golore.graph.phrases",
    "golore.graph.queries.adjacency_file",
    "golore.graph.queries.file_facts",
    "golore.graph.queries.interface_dispatch",
    "golore.graph.search.close_reading.declaration_fit",
    "golore.graph.search.close_reading.exact_phrases",
    "golore.graph.search.postings",
    "golore.graph.search.signals",
    "golore.graph.search.snippets",
    "golore.graph.search.term_counts",
    "golore.graph.search.terms",
    "golore.graph.search.weights",
    "golore.learner.checkout.discovery",
    "golore.learner.checkout.ignore_rules",
    "golore.learner.documents.markdown",
    "golore.learner.extraction.declarations",
    "golore.learner.extraction.doc_comments",
    "golore.learner.extraction.extract",
    "golore.learner.extraction.lexer",
    "golore.learner.extraction.newer_syntax",
    "golore.learner.extraction.node_kinds",
    "golore.learner.extraction.one_line",
    "golore.learner.extraction.opcodes",
    "golore.learner.extraction.short_forms",
    "golore.learner.extraction.skeleton",
    "golore.learner.extraction.token_encoder",
    "golore.learner.extraction.tree_encoder",
    "golore.learner.pipeline.graph_rows",
    "golore.learner.pipeline.test_edges",
    "golore.learner.resolution.conversions",
    "golore.learner.resolution.expressions",
    "golore.learner.resolution.generics",
    "golore.learner.resolution.members",
    "golore.learner.resolution.method_sets",
    "golore.learner.resolution.package_loader",
    "golore.learner.resolution.places",
    "golore.learner.resolution.resolve_file",
    "golore.learner.resolution.statements",
    "golore.learner.resolution.type_reader",
    "golore.learner.resolution.types",
    "golore.learner.resolution.universe",
    "golore.learner.resolution.use_recorder",
    "golore.learner.resolution.world",
)
"""The hot modules, by import name. Each is compiled to a library of its own."""

ROOT = Path(__file__).resolve().parent
TOP_FOLDERS = ("graph", "learner", "mcp_server", "summarizers")
PUBLIC = Path("mcp_server", "public")
"""The folder of the package `golore` itself, with the names that `import golore` offers."""
EXT_SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
MYPY_OPTIONS = (
    "--config-file=",
    "--namespace-packages",
    "--explicit-package-bases",
    "--follow-imports=silent",
    "--ignore-missing-imports",
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
    """The hot modules and the golore modules that they import: all sources that the generated code depends on."""
    found: set[Path] = set()
    pending = [source_of(module) for module in COMPILED]
    if missing := [str(path) for path in pending if not path.exists()]:
        sys.exit(f"setup.py lists hot modules that do not exist: {', '.join(missing)}")
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending.extend(other for other in map(source_of, imports_of(path)) if other.exists())
    return sorted(found)


def digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def build_directory() -> Path:
    """The directory for libraries made with this Python, this compiler and these options."""
    settings = (sys.version, sysconfig.get_platform(), version("mypy"), os.environ.get("CC"), os.environ.get("CFLAGS"))
    name = digest(repr(settings).encode(), (ROOT / "setup.py").read_bytes())
    return ROOT / "build" / "hot" / f"{sys.implementation.cache_tag}-{name}"


def sources_digest() -> str:
    return digest(
        *(part for path in hot_sources() for part in (str(path.relative_to(ROOT)).encode(), path.read_bytes()))
    )


def reason_to_stay_pure() -> str:
    """Why nothing can be compiled; empty if it can. Tries to compile and link a line of C."""
    if os.environ.get("GOLORE_PURE", "0") not in ("", "0"):
        return "GOLORE_PURE is set"
    try:
        version("mypy")
    except PackageNotFoundError:
        return "mypy is not installed beside setuptools"
    # Not at the top: setuptools must be imported first, because it replaces distutils by its own copy.
    # From Python 3.12 on, only that copy exists, and the type checker cannot find it.
    from distutils.ccompiler import new_compiler  # pyright: ignore[reportMissingModuleSource]
    from distutils.sysconfig import customize_compiler, get_python_inc  # pyright: ignore[reportMissingModuleSource]

    with tempfile.TemporaryDirectory() as directory:
        probe = Path(directory, "probe.c")
        probe.write_text("#include <Python.h>\nPyObject *probe(void) { return PyLong_FromLong(1); }\n")
        compiler = new_compiler()
        customize_compiler(compiler)
        try:
            objects = compiler.compile([str(probe)], output_dir=directory, include_dirs=[get_python_inc()])
            if os.name != "nt":  # on Windows, linking needs a list of exports, and the linker comes with the compiler
                compiler.link_shared_object(objects, str(Path(directory, "probe.so")))
        except BUILD_FAULTS as fault:
            return f"no working C compiler: {fault}"
    return ""


def run_mypyc() -> list[Extension]:
    from mypyc.build import mypycify

    tree = build_directory() / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for path in hot_sources():
        copy = tree / "golore" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    paths = [f"{module.replace('.', '/')}.py" for module in COMPILED]
    # Run inside the tree, so that tracebacks name golore/learner/x.py and not an absolute path of this machine.
    os.chdir(tree)
    try:
        compiled = mypycify(
            [*MYPY_OPTIONS, f"--cache-dir={build_directory() / 'mypy'}", *paths],
            only_compile_paths=paths,
            opt_level="3",
            debug_level="0",
            separate=True,
            target_dir=str(build_directory() / "c"),
        )
        return cast(Any, compiled)  # it is setuptools' class, but declared as such only for Python 3.12 and newer
    finally:
        os.chdir(ROOT)


def extensions() -> list[Extension]:
    """The extensions to build. If no source changed since the last build, they have only names: nothing is compiled."""
    if not COMPILED or COMPILING_COMMANDS.isdisjoint(sys.argv):
        return []
    if reason := reason_to_stay_pure():
        print(f"golore: installing pure Python, which is slower ({reason})", file=sys.stderr)
        return []
    names = finished()
    return [Extension(name, []) for name in names] if names else run_mypyc()


def finished() -> list[str]:
    """Names of the extensions that were compiled from the current sources; empty if there are none."""
    with suppress(FileNotFoundError):
        compiled_digest, *names = (build_directory() / "finished").read_text().split()
        if compiled_digest == sources_digest():
            return names
    return []


def path_of(extension: Extension) -> Path:
    return Path(f"{extension.name.replace('.', '/')}{EXT_SUFFIX}")


class BuildHot(build_ext):
    """Builds all hot modules or none, because some of them alone would not import."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.inplace = False  # an editable install needs them in its tree of links, not beside our sources
        self.parallel = True

    def run(self) -> None:
        try:
            super().run()
        except BUILD_FAULTS as fault:
            print(f"golore: installing pure Python, which is slower (compiling failed: {fault})", file=sys.stderr)
            for path in map(path_of, self.extensions):
                Path(self.build_lib, path).unlink(missing_ok=True)
            self.extensions = []

    def build_extensions(self) -> None:
        if not finished():
            self.compile_what_changed()
        for path in map(path_of, self.extensions):
            target = Path(self.build_lib, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(build_directory() / "lib" / path, target)

    def compile_what_changed(self) -> None:
        marker = build_directory() / "finished"
        marker.unlink(missing_ok=True)
        if self.compiler.compiler_type == "unix":
            for extension in self.extensions:
                # Python only needs the function that it marks as visible. Calls of the others become direct.
                extension.extra_compile_args.append("-fvisibility=hidden")
        original = self.build_lib, self.build_temp
        # setuptools skips a library that is newer than its C files, which mypyc writes only when they change.
        self.build_lib, self.build_temp = str(build_directory() / "lib"), str(build_directory() / "temp")
        super().build_extensions()
        self.build_lib, self.build_temp = original
        marker.write_text("\n".join((sources_digest(), *(extension.name for extension in self.extensions))))


def packages() -> dict[str, str]:
    """Import name → folder of every package.

    The folders are at the top of the repository, but are imported as parts of `golore`: a tool that runs in other
    people's projects must not occupy a name such as `graph`.
    """
    folders = sorted(path.parent.relative_to(ROOT) for top in TOP_FOLDERS for path in (ROOT / top).rglob("__init__.py"))
    return {
        ".".join(("golore", *folder.parts)) if folder != PUBLIC else "golore": folder.as_posix() for folder in folders
    }


def readme() -> str:
    """The README for PyPI, where relative links lead nowhere: they become links to the repository."""
    source = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!https?://|#)", f"]({source}/blob/main/", text)


setup(
    packages=list(packages()),
    package_dir=packages(),
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildHot},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
