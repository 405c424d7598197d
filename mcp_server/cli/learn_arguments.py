"""Declares `learn`, `watch`, `status`, `audit` and `doctor`."""

from __future__ import annotations

import argparse
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from golore.mcp_server.cli.options import AddParser, add, add_path, add_root, non_negative_int

if TYPE_CHECKING:
    from golore.learner.pipeline.graph_step import Report


def add_commands(make: AddParser) -> None:
    _add_learn(make)
    _add_watch(make)
    about = "print what the store contains and which files have changed since the last learn"
    add_path(add(make, "status", about, _status))
    _add_audit(make)
    about = "check the installation: print what is missing and what to do about it"
    add_path(add(make, "doctor", about, _doctor))


def _add_learn(make: AddParser) -> None:
    about = "learn a Go repository, or bring its store up to date"
    learn = add(make, "learn", about, _learn, reads=False)
    add_root(learn)
    learn.add_argument("--full", action="store_true", help="rebuild the whole graph instead of updating it")
    learn.add_argument("--no-summaries", action="store_true", help="no effect: learn never asks a model")
    learn.add_argument(
        "--workers", type=non_negative_int, metavar="N", help="number of worker processes; 0: use this process only"
    )


def _add_watch(make: AddParser) -> None:
    watch = add(make, "watch", "learn, then update the store whenever files change", _watch, reads=False)
    add_root(watch)


def _add_audit(make: AddParser) -> None:
    about = "compare the graph with your Go toolchain's type checker; print precision and recall"
    audit = add(make, "audit", about, _audit, reads=False)
    add_root(audit)
    audit.add_argument(
        "--gopath",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="directory to search for imports that the go command does not find; may be repeated",
    )


def _learn(options: argparse.Namespace) -> int:
    started = time.monotonic()  # before the engine is loaded
    with _history_read_ahead(options):
        from golore.mcp_server.commands.learn import run_learn
        from golore.mcp_server.hooks.precompile import compile_ahead

        code = run_learn(
            options.root,
            full=options.full,
            workers=options.workers,
            as_json=options.as_json,
            started=started,
            print_next_steps=_print_next_steps,
        )
        compile_ahead()
        return code


def _history_read_ahead(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Start git before the imports, which take a core for as long as git takes for half of its work, if the history
    will be needed."""
    from golore.graph.files.store_path import CACHE_NAME, store_of
    from golore.learner.checkout.git_log import history_read_ahead

    is_needed = options.full or not (store_of(options.root) / CACHE_NAME).exists()
    return history_read_ahead(options.root) if is_needed else nullcontext()


def _print_next_steps(root: Path, report: Report) -> None:
    from golore.mcp_server.cli.first_steps import print_next_steps

    print_next_steps(root, report)


def _watch(options: argparse.Namespace) -> int:
    from golore.mcp_server.watching.watch import run_watch

    return run_watch(options.root, as_json=options.as_json)


def _status(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.status import run_status

    return run_status(options.repo, as_json=options.as_json)


def _audit(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.analysis.audit import run_audit

    return run_audit(options.root, gopath=options.gopath, json_wanted=options.as_json)


def _doctor(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.doctor import run_doctor

    return run_doctor(options.repo, as_json=options.as_json)
