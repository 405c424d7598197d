"""`golore embed`: makes the vectors that search by meaning needs, and adds them to the graph."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from pathlib import Path

from golore.graph.phrases import counted
from golore.graph.safety.secret_filter import removal_message
from golore.graph.search.vectors import VectorFile
from golore.mcp_server.services.knowledge.embedders import Selection, embedder_named, write_selection
from golore.mcp_server.services.knowledge.graph_vectors import remove_graph_vectors, update_graph_vectors
from golore.mcp_server.services.knowledge.vectors import embed, selected_model
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.text.output import is_terminal, print_json, print_lines, print_message
from golore.mcp_server.text.progress import show_progress
from golore.summarizers.models.embeddings import DEFAULT, Ollama, open_embedder
from golore.summarizers.models.model_files import HOST, LICENCE, MINILM, download_model, is_installed


def run_embed(
    start: Path,
    *,
    model: str,
    host: str,
    limit: int | None,
    minutes: float | None,
    as_json: bool,
    download: bool = False,
    in_graph: bool = True,
) -> int:
    repository = find_repository(start)
    selected = model or selected_model(repository.store) or DEFAULT
    if selected != DEFAULT and Path(selected).is_dir():
        selected = str(Path(selected).resolve())
    if download or (selected == DEFAULT and not is_installed() and _agrees()):
        with show_progress() as progress:
            progress.stage("Downloading", sum(file.size for file in MINILM))
            download_model(tick=progress.tick)
    embedder = open_embedder(selected, host) if host else embedder_named(selected)
    closing_embedder = closing(embedder) if host and isinstance(embedder, Ollama) else nullcontext()
    with closing_embedder, show_progress() as progress:
        done = embed(repository, embedder, limit=limit, seconds=minutes * 60 if minutes else None, progress=progress)
    write_selection(repository.store, Selection(selected, in_graph))
    nodes = 0
    if in_graph:
        file = VectorFile(repository.store, embedder.name, embedder.dimensions)
        nodes = update_graph_vectors(repository.store, file, check_all=True)
    else:
        remove_graph_vectors(repository.store)
    if isinstance(embedder, Ollama) and embedder.removed:
        print_message(f"golore: {removal_message(embedder.removed)}")
    if as_json:
        print_json(
            {**done._asdict(), "model": embedder.name, "dimensions": embedder.dimensions, "graph_nodes_written": nodes}
        )
    else:
        left = f"; {counted(done.left, 'text')} left, run it again to continue" if done.left else ""
        print_lines([f"Embedded {counted(done.made, 'text')} with {embedder.name} in {done.seconds:.1f} s{left}."])
    return 0


def _agrees() -> bool:
    """Ask on a terminal. Elsewhere nobody can agree, and the error names the option."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    size = sum(file.size for file in MINILM) / 1e6
    print_message(f"The model all-MiniLM-L6-v2 is not on this machine ({size:.0f} MB, {LICENCE}).")
    print_message(f"Download it from {HOST}? Nothing is sent but the request. [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
