"""The `golore` command: what can be asked, and how failures are told.

What the commands do is in the modules beside this one. They are imported when their command runs, because
`golore --version` should not wait for a database engine.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from golore.graph.errors import GoloreError

AGENTS: Final = ("claude", "codex", "copilot", "cursor", "gemini", "opencode", "vscode")
"""Those that golore can be installed for."""
SCOPES: Final = ("project", "user")
_INTERRUPTED: Final = 130
_EXAMPLES: Final = """\
examples:
  golore learn                     learn the repository in this directory
  golore callers Store.Save        who calls a method, with the lines
  golore implementers io.Reader    which types satisfy an interface
  golore impact --depth 2 Open     what a change of Open may reach
  golore path main Store.Save      how main comes to call Save

A symbol is named as `go doc` prints it, or by any end of that name that is not ambiguous.
Exit codes: 0 fine, 1 failure, 2 wrong usage."""
_QUESTIONS: Final = {
    "callers": "who calls a function or method",
    "callees": "what a function or method calls",
    "implementers": "which types satisfy an interface; for another type, which interfaces it satisfies",
    "users": "who calls, refers to or embeds a symbol",
}


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream)
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        code = run(options)
        sys.stdout.flush()
    except GoloreError as error:
        return _failed(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _failed("Interrupted; the store is as it was.", _INTERRUPTED)
    except BrokenPipeError:
        # Who read the output has had enough; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _failed(_explained(error), 1)
    except Exception as error:  # noqa: BLE001  the last line of defence before the user
        if os.environ.get("GOLORE_DEBUG"):
            traceback.print_exc()
        said = f"{type(error).__name__}: {error}".split("\n")[0]
        return _failed(f"Sorry, golore failed ({said}). Set GOLORE_DEBUG=1 to see where.", 1)
    return code


def _accept_any_text(stream: TextIO) -> None:
    """Let a stream print names that its encoding lacks, rather than fail over them."""
    match stream:
        case io.TextIOWrapper():
            stream.reconfigure(errors="backslashreplace")
        case _:
            pass


def _failed(sentence: str, code: int) -> int:
    print(f"golore: {sentence}", file=sys.stderr)
    return code


def _explained(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{where}. Make room and try again."
    if isinstance(error, PermissionError):
        return f"There is no permission{where}. Check who owns it."
    return f"{error.strerror or error}{where}."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="golore",
        description="Learns a Go repository and answers questions about it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.set_defaults(run=partial(_no_command, parser))
    make = parser.add_subparsers(title="commands", metavar="COMMAND").add_parser
    _add_learn(make)
    _add_watch(make)
    _add(make, "status", "what is stored, and how far it is behind the files", _status)
    _add_context(make)
    _add_symbol(_add(make, "show", "a declaration: signature, documentation, place, relations", _show))
    for name, about in _QUESTIONS.items():
        asked = _add(make, name, about, _question)
        asked.set_defaults(question=name)
        _add_symbol(asked)
        _add_limit(asked)
    _add_impact(make)
    path = _add(make, "path", "how one function comes to call another", _path)
    path.add_argument("source", metavar="A", help="where to begin")
    path.add_argument("target", metavar="B", help="what is called in the end")
    _add_search(make)
    query = _add(make, "query", "ask the graph in Cypher; only reading is allowed", _query)
    query.add_argument("cypher", metavar="CYPHER", help="such as: MATCH (s:Symbol) RETURN s.qualified_name LIMIT 10")
    _add_servers(make)
    _add_agents(make)
    _add_export(make)
    _add_audit(make)
    _add(make, "doctor", "what is installed, what is missing, and what to do", _doctor)
    return parser


def _no_command(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.version:
        # The machinery for this takes longer to load than everything above.
        from importlib.metadata import version

        print(f"golore {version('golore')}")
    else:
        parser.print_help()
    return 0


_Make = Callable[..., argparse.ArgumentParser]
_Run = Callable[[argparse.Namespace], int]


def _add(make: _Make, name: str, about: str, run: _Run, *, reads: bool = True) -> argparse.ArgumentParser:
    """A command with the options that all of its sort have."""
    parser = make(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    if reads:
        parser.add_argument(
            "--repo", type=Path, default=Path(), metavar="PATH", help="a place in the repository (default: here)"
        )
    return parser


def _add_symbol(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol", metavar="SYMBOL", help="such as Save, Store.Save, pkg.Store.Save or io.Reader")


def _add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_positive, metavar="N", help="list at most N of each sort")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _add_learn(make: _Make) -> None:
    about = "read a repository into its store, or bring the store up to date"
    learn = _add(make, "learn", about, _learn, reads=False)
    learn.add_argument("root", nargs="?", type=Path, default=Path(), metavar="PATH", help="its root (default: here)")
    learn.add_argument("--full", action="store_true", help="make the graph anew, whatever the store holds")
    learn.add_argument("--no-summaries", action="store_true", help="do not write summaries (there are none yet)")
    learn.add_argument("--workers", type=_whole, metavar="N", help="worker processes; 0: do all in this one")


def _add_watch(make: _Make) -> None:
    watch = _add(make, "watch", "learn, then keep the store up to date while files change", _watch, reads=False)
    watch.add_argument("root", nargs="?", type=Path, default=Path(), metavar="PATH", help="its root (default: here)")


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than nothing")
    return number


def _add_context(make: _Make) -> None:
    about = "what an agent is told of a file, a package or a symbol, and the files that belong to it"
    context = _add(make, "context", about, _context)
    context.add_argument("target", metavar="FILE|PACKAGE|SYMBOL", help="such as store/store.go, store/ or Store.Save")
    context.add_argument("--budget", type=_positive, metavar="N", help="characters of text (default: about 2,000)")


def _add_impact(make: _Make) -> None:
    impact = _add(make, "impact", "what a change of a symbol may reach, tests listed apart", _impact)
    _add_symbol(impact)
    _add_limit(impact)
    impact.add_argument("--depth", type=_positive, default=3, metavar="N", help="steps to follow (default: 3)")


def _add_search(make: _Make) -> None:
    search = _add(make, "search", "find symbols, packages and files by name or by words of their comments", _search)
    search.add_argument("words", nargs="+", metavar="QUERY", help="a name, a part of one, or a few words")
    search.add_argument("--kind", default="", metavar="KIND", help="only these: func, method, struct, …, package, file")
    search.add_argument("--limit", type=_positive, default=20, metavar="N", help="at most N results (default: 20)")


def _add_servers(make: _Make) -> None:
    about = "answer a coding agent over MCP, on standard input and output"
    mcp = make("mcp", help=about, description=f"{about[:1].upper()}{about[1:]}.")
    mcp.set_defaults(run=_mcp)
    about = "answer coding agents over MCP, on a port of this machine, with a token"
    serve = _add(make, "serve", about, _serve, reads=False)
    serve.add_argument("--port", type=_whole, metavar="N", help="the port (default: 7425; 0: any that is free)")
    for parser in (mcp, serve):
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="repositories (default: the one here)")


def _add_agents(make: _Make) -> None:
    for name, about, run in (
        ("install", "have an agent ask golore: hooks and the MCP server in its configuration", _install),
        ("uninstall", "take out of an agent's configuration what install put in", _uninstall),
    ):
        parser = make(name, help=about, description=f"{about[:1].upper()}{about[1:]}. The change is shown first.")
        parser.set_defaults(run=run)
        parser.add_argument("agent", choices=AGENTS, metavar="AGENT", help=", ".join(AGENTS))
        parser.add_argument("--scope", choices=SCOPES, default="project", help="for this repository, or for this user")
        parser.add_argument("--yes", action="store_true", help="make the change without asking")
        parser.add_argument("--repo", type=Path, default=Path(), metavar="PATH", help="the repository (default: here)")
    about = "tell an agent what is known of the file it opens; agents run this, see `install`"
    hook = make("hook", help=about, description=f"{about[:1].upper()}{about[1:]}.")
    hook.set_defaults(run=_hook)
    hook.add_argument("agent", nargs="?", default="", metavar="AGENT", help=", ".join(AGENTS))


def _add_export(make: _Make) -> None:
    export = _add(make, "export", "the whole graph, one JSON object a line, sorted", _export)
    export.add_argument("--format", choices=["jsonl"], default="jsonl", help="lines of JSON, the only one so far")
    export.add_argument("--output", type=Path, metavar="FILE", help="write to a file (default: standard output)")


def _add_audit(make: _Make) -> None:
    about = "precision and recall of what was learned, judged by your own Go toolchain"
    audit = _add(make, "audit", about, _audit, reads=False)
    audit.add_argument("root", nargs="?", type=Path, default=Path(), metavar="PATH", help="its root (default: here)")
    audit.add_argument(
        "--gopath",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="where to look for imports that the go command does not find; may be repeated",
    )


def _learn(options: argparse.Namespace) -> int:
    from golore.mcp_server.ahead import compile_ahead
    from golore.mcp_server.learning import run_learn

    code = run_learn(options.root, full=options.full, workers=options.workers, as_json=options.as_json)
    compile_ahead()
    return code


def _watch(options: argparse.Namespace) -> int:
    from golore.mcp_server.watch import run_watch

    return run_watch(options.root, as_json=options.as_json)


def _status(options: argparse.Namespace) -> int:
    from golore.mcp_server.status import run_status

    return run_status(options.repo, as_json=options.as_json)


def _context(options: argparse.Namespace) -> int:
    from golore.mcp_server.contexting import run_context

    return run_context(options.target, options.repo, as_json=options.as_json, budget=options.budget)


def _show(options: argparse.Namespace) -> int:
    from golore.mcp_server.asking import run_show

    return run_show(options.symbol, options.repo, as_json=options.as_json)


def _question(options: argparse.Namespace) -> int:
    from golore.mcp_server.asking import run_question

    return run_question(options.question, options.symbol, options.repo, as_json=options.as_json, limit=options.limit)


def _impact(options: argparse.Namespace) -> int:
    from golore.mcp_server.asking import run_impact

    return run_impact(options.symbol, options.repo, as_json=options.as_json, depth=options.depth, limit=options.limit)


def _path(options: argparse.Namespace) -> int:
    from golore.mcp_server.asking import run_path

    return run_path(options.source, options.target, options.repo, as_json=options.as_json)


def _query(options: argparse.Namespace) -> int:
    from golore.mcp_server.asking import run_query

    return run_query(options.cypher, options.repo, as_json=options.as_json)


def _search(options: argparse.Namespace) -> int:
    from golore.mcp_server.searching import run_search

    return run_search(options.words, options.repo, kind=options.kind, limit=options.limit, as_json=options.as_json)


def _mcp(options: argparse.Namespace) -> int:
    from golore.mcp_server.server import run_mcp

    return run_mcp(options.paths)


def _serve(options: argparse.Namespace) -> int:
    from golore.mcp_server.serving import PORT, run_serve

    port = PORT if options.port is None else options.port
    return run_serve(options.paths, port=port, as_json=options.as_json)


def _install(options: argparse.Namespace) -> int:
    from golore.mcp_server.installing import run_install

    return run_install(options.agent, scope=options.scope, repo=options.repo, is_agreed=options.yes)


def _uninstall(options: argparse.Namespace) -> int:
    from golore.mcp_server.installing import run_uninstall

    return run_uninstall(options.agent, scope=options.scope, repo=options.repo, is_agreed=options.yes)


def _hook(options: argparse.Namespace) -> int:
    from golore.mcp_server.hook import run_hook

    return run_hook(options.agent)


def _export(options: argparse.Namespace) -> int:
    from golore.mcp_server.exporting import run_export

    return run_export(options.repo, options.output)


def _audit(options: argparse.Namespace) -> int:
    from golore.mcp_server.auditing import run_audit

    return run_audit(options.root, gopath=options.gopath, json_wanted=options.as_json)


def _doctor(options: argparse.Namespace) -> int:
    from golore.mcp_server.doctor import run_doctor

    return run_doctor(options.repo, as_json=options.as_json)
