"""Declares `publish`, `pull` and `fleet`, the commands about a lake that many repositories share."""

from __future__ import annotations

import argparse

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
    fleet = add(make, "fleet", "list, check, index or clean what is in a lake", _fleet, reads=False)
    fleet.add_argument(
        "action",
        choices=["list", "status", "compact", "prune"],
        help="list: the repositories; status: what is not current or not readable; compact: make a new index; "
        "prune: delete what nobody needs",
    )
    _add_lake(fleet)
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
    from golore.mcp_server.commands.sharing.fleet import run_compact, run_list, run_prune, run_status

    if options.action == "prune":
        return run_prune(options.lake, keep=options.keep, hours=options.hours, as_json=options.as_json)
    run = {"list": run_list, "status": run_status, "compact": run_compact}[options.action]
    return run(options.lake, as_json=options.as_json)
