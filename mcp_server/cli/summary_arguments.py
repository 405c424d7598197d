"""Summaries: drafts by models, and better ones."""

from __future__ import annotations

import argparse

from golore.mcp_server.cli.options import Make, add, positive


def add_commands(make: Make) -> None:
    _add_summarize(make)
    _add_drafts(make)
    _add_upgrade(make)


def _add_summarize(make: Make) -> None:
    about = "have a local model write drafts of summaries, most depended-upon first"
    summarize = add(make, "summarize", about, _summarize)
    summarize.add_argument("--limit", type=positive, metavar="N", help="ask for at most N texts")
    summarize.add_argument("--minutes", type=float, metavar="M", help="ask for none after so many minutes")
    summarize.add_argument("--model", metavar="NAME", help="the model, as the server calls it")
    summarize.add_argument("--host", metavar="URL", help="its server (default: Ollama's on this machine)")
    summarize.add_argument("--server", choices=["ollama", "openai"], help="what the server speaks (default: ollama)")
    summarize.add_argument("--parallel", type=positive, metavar="N", help="texts that are asked for at a time")
    summarize.add_argument("--background", action="store_true", help=argparse.SUPPRESS)


def _add_drafts(make: Make) -> None:
    drafts = add(make, "drafts", "the summaries that are most worth improving", _drafts)
    drafts.add_argument("--limit", type=positive, default=10, metavar="N", help="how many (default: 10)")
    drafts.add_argument("--level", choices=["symbol", "file", "package", "repository"], help="only of this level")


def _add_upgrade(make: Make) -> None:
    about = "have a frontier model rewrite the most valuable drafts, through an API, for money; asks first"
    upgrade = add(make, "upgrade", about, _upgrade)
    upgrade.add_argument("--limit", type=positive, default=20, metavar="N", help="how many (default: 20)")
    upgrade.add_argument("--max-cost", type=float, metavar="USD", help="stop before more than this is spent")
    upgrade.add_argument("--provider", choices=["anthropic", "openai"], help="whose API (default: anthropic)")
    upgrade.add_argument("--model", metavar="NAME", help="the model, as the API calls it")
    upgrade.add_argument("--host", metavar="URL", help="another server that speaks the API")
    upgrade.add_argument("--price", metavar="IN/OUT", help="dollars for a million tokens, such as 3/15")
    upgrade.add_argument("--yes", action="store_true", help="do it without asking")


def _summarize(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.summarize import run_summarize

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
    from golore.mcp_server.commands.drafts import run_drafts

    return run_drafts(options.repo, limit=options.limit, level=options.level or "", as_json=options.as_json)


def _upgrade(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.upgrade import run_upgrade

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
