"""Declares `embed`, which makes the vectors for search by meaning and for queries by nearness."""

from __future__ import annotations

import argparse

from golore.mcp_server.cli.options import AddParser, add, add_path, positive_int


def add_commands(make: AddParser) -> None:
    embed = add(make, "embed", "make the vectors for search by meaning; needs golore[vectors] or Ollama", _embed)
    add_path(embed)
    embed.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="minilm, ollama:MODEL, or a directory with model.onnx and tokenizer.json (default: that of the last run, "
        "or minilm)",
    )
    embed.add_argument(
        "--download",
        action="store_true",
        help="download minilm from huggingface.co first (24 MB, checked by its digest)",
    )
    embed.add_argument(
        "--host",
        default="",
        metavar="URL",
        help="URL of the Ollama server; names and comments of the code are sent there (default: on this machine)",
    )
    embed.add_argument(
        "--no-graph",
        dest="in_graph",
        action="store_false",
        help="leave the vectors out of the graph, and later ones too",
    )
    embed.add_argument("--limit", type=positive_int, metavar="N", help="embed at most N texts")
    embed.add_argument("--minutes", type=float, metavar="M", help="begin no batch after M minutes")


def _embed(options: argparse.Namespace) -> int:
    from golore.mcp_server.commands.summaries.embed import run_embed

    return run_embed(
        options.repo,
        model=options.model,
        download=options.download,
        host=options.host,
        limit=options.limit,
        minutes=options.minutes,
        as_json=options.as_json,
        in_graph=options.in_graph,
    )
