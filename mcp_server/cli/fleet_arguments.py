"""Declares `publish`, `pull` and `fleet`, the commands about a lake that many repositories share."""

from __future__ import annotations

import argparse
from pathlib import Path

from golore.mcp_server.cli.options import AddParser, add, non_negative_int, positive_int

_ADDRESS = "a directory, file:, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX (default: the one of your settings)"
_NAME = "name of the repository in the lake (default: host and path of its git remote)"


def add_commands(make: AddParser) -> None:
    publish = add(
        make, "publish", "publish what was learned of this commit to a lake, for questions and pulls", _publish
    )
    _add_lake(publish)
    publish.add_argument("--name", default="", metavar="NAME", help=_NAME)
    publish.add_argument(
        "--must", action="store_true", help="fail if the lake cannot be written (default: warn, so that CI goes on)"
    )
    pull = add(
        make, "pull", "get the store of the nearest published commit from a lake, and learn the difference", _pull
    )
    _add_lake(pull)
    pull.add_argument("--name", default="", metavar="NAME", help=_NAME)
    pull.add_argument(
        "--replace", action="store_true", help="even if there is a store here already; notes and summaries are kept"
    )
    fleet = add(
        make, "fleet", "learn many repositories, or list, check, index or clean what is in a lake", _fleet, reads=False
    )
    fleet.add_argument(
        "action",
        choices=["learn", "list", "status", "compact", "prune"],
        help="learn: learn and publish the repositories of a list; list: the repositories; status: what is not current "
        "or not readable; compact: make a new index; prune: delete what nobody needs",
    )
    fleet.add_argument(
        "target",
        nargs="?",
        default="",
        metavar="LAKE|LIST",
        help=f"{_ADDRESS}; learn: a file with a URL or path on each line, and perhaps a revision after it",
    )
    fleet.add_argument("--lake", default="", metavar="LAKE", help="learn: the lake to publish to")
    fleet.add_argument("--shallow", action="store_true", help="learn: get no history, which is faster")
    fleet.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="learn, compact: on this Ray cluster (default: the one that this machine is part of)",
    )
    fleet.add_argument(
        "--keep",
        type=positive_int,
        default=10,
        metavar="N",
        help="prune: publications of each repository (default: 10)",
    )
    fleet.add_argument(
        "--hours",
        type=non_negative_int,
        default=24,
        metavar="N",
        help="prune: leave alone what is younger than N hours (default: 24)",
    )


def _add_lake(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lake", nargs="?", default="", metavar="LAKE", help=_ADDRESS)


def _publish(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.publish import run_publish

    return run_publish(options.lake, options.repo, name=options.name, must=options.must, as_json=options.as_json)


def _pull(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.sharing.pull import run_pull

    return run_pull(options.lake, options.repo, name=options.name, replace=options.replace, as_json=options.as_json)


def _fleet(options: argparse.Namespace) -> int:
    from golore.graph.errors import UsageError
    from golore.mcp_server.commands.sharing.fleet import run_compact, run_list, run_prune, run_status

    if options.action == "learn":
        from golore.mcp_server.commands.sharing.fleet_learn import run_fleet_learn

        if not options.target:
            raise UsageError("Name the list of repositories: golore fleet learn LIST --lake LAKE.")
        path = Path(options.target)
        return run_fleet_learn(path, options.lake, ray=options.ray, shallow=options.shallow, as_json=options.as_json)
    if options.ray is not None and options.action != "compact":
        raise UsageError("Only learn and compact run on a Ray cluster. Leave out --ray.")
    address = options.target or options.lake
    if options.action == "prune":
        return run_prune(address, keep=options.keep, hours=options.hours, as_json=options.as_json)
    if options.action == "compact":
        return run_compact(address, ray=options.ray, as_json=options.as_json)
    run = {"list": run_list, "status": run_status}[options.action]
    return run(address, as_json=options.as_json)
