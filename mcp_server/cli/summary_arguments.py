"""Declares `summarize`, `drafts` and `upgrade`."""

from __future__ import annotations

import argparse

from golore.mcp_server.cli.options import AddParser, add, add_path, positive_int


def add_commands(make: AddParser) -> None:
    _add_summarize(make)
    _add_drafts(make)
    _add_upgrade(make)


def _add_summarize(make: AddParser) -> None:
    about = "write draft summaries with a local model, most depended-upon code first"
    summarize = add(make, "summarize", about, _summarize)
    add_path(summarize)
    summarize.add_argument("--limit", type=positive_int, metavar="N", help="request at most N texts")
    summarize.add_argument("--minutes", type=float, metavar="M", help="request no more texts after M minutes")
    summarize.add_argument("--model", metavar="NAME", help="name of the model on its server")
    summarize.add_argument("--host", metavar="URL", help="URL of the server (default: Ollama on this machine)")
    summarize.add_argument("--server", choices=["ollama", "openai"], help="protocol of the server (default: ollama)")
    summarize.add_argument("--parallel", type=positive_int, metavar="N", help="number of requests at the same time")
    summarize.add_argument("--background", action="store_true", help=argparse.SUPPRESS)


def _add_drafts(make: AddParser) -> None:
    drafts = add(make, "drafts", "list the summaries that are most worth improving", _drafts)
    add_path(drafts)
    drafts.add_argument("--limit", type=positive_int, default=10, metavar="N", help="at most N summaries (default: 10)")
    drafts.add_argument(
        "--level", choices=["symbol", "file", "package", "repository"], help="only summaries of this level"
    )


def _add_upgrade(make: AddParser) -> None:
    about = "rewrite the most valuable drafts with a frontier model, through a paid API; asks first"
    upgrade = add(make, "upgrade", about, _upgrade)
    add_path(upgrade)
    upgrade.add_argument(
        "--limit", type=positive_int, default=20, metavar="N", help="at most N summaries (default: 20)"
    )
    upgrade.add_argument("--max-cost", type=float, metavar="USD", help="stop before spending more than this")
    upgrade.add_argument("--provider", choices=["anthropic", "openai"], help="API to use (default: anthropic)")
    upgrade.add_argument("--model", metavar="NAME", help="name of the model in the API")
    upgrade.add_argument("--host", metavar="URL", help="URL of another server with this API")
    upgrade.add_argument("--price", metavar="IN/OUT", help="dollars per million tokens, such as 3/15")
    upgrade.add_argument("--yes", action="store_true", help="send without asking")


def _summarize(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.summaries.summarize import run_summarize

    return run_summarize(
        options.repo,
        limit=options.limit,
        minutes=options.minutes,
        as_json=options.as_json,
        is_background=options.background,
        model=options.model,
        host=options.host,
        server=options.server,
        parallel=options.parallel,
    )


def _drafts(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.summaries.drafts import run_drafts

    return run_drafts(options.repo, limit=options.limit, level=options.level or "", as_json=options.as_json)


def _upgrade(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.summaries.upgrade import run_upgrade

    return run_upgrade(
        options.repo,
        limit=options.limit,
        max_cost=options.max_cost,
        price=options.price or "",
        is_agreed=options.yes,
        as_json=options.as_json,
        provider=options.provider,
        model=options.model,
        host=options.host,
    )
