"""golore as a library: learns Go repositories and answers questions about them.

    import golore

    golore.learn("path/to/repository")
    with golore.open("path/to/repository") as repository:
        for link in repository.callers("Store.Save").resolved:
            print(link.symbol.qualified_name, link.file, link.sites)

`__all__` lists the public names. Everything else in this package may change without notice. A name is loaded when it is
first used, because the hooks of agents import this package too, at every step.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from golore.graph.changes.affected import Affected
    from golore.graph.errors import GoloreError, ModelUnavailable, StoreError, StoreMissing, UsageError
    from golore.graph.explore.explore import Exploration, Part
    from golore.graph.knowledge.notes import Anchor, PinnedNote
    from golore.graph.model.entities import Edge, File, Package, Symbol
    from golore.graph.queries.answers import (
        Answer,
        Impact,
        Link,
        Meaning,
        Reached,
        Ref,
        Route,
        Step,
        StoreCounts,
        SymbolAnswer,
        SymbolDetails,
        UnresolvedUse,
        UnresolvedUses,
    )
    from golore.graph.search.results.hits import Hit, Hits, InnerHit
    from golore.learner.pipeline.graph_step import Report
    from golore.mcp_server.api.public_repository import Repository, learn, open
    from golore.mcp_server.services.knowledge.vectors import Similar
    from golore.mcp_server.services.target_context import ContextAnswer
    from golore.mcp_server.services.targets import UnclearName

__all__ = [
    "Affected",
    "Anchor",
    "Answer",
    "ContextAnswer",
    "Edge",
    "Exploration",
    "File",
    "GoloreError",
    "Hit",
    "Hits",
    "Impact",
    "InnerHit",
    "Link",
    "Meaning",
    "ModelUnavailable",
    "Package",
    "Part",
    "PinnedNote",
    "Reached",
    "Ref",
    "Report",
    "Repository",
    "Route",
    "Similar",
    "Step",
    "StoreCounts",
    "StoreError",
    "StoreMissing",
    "Symbol",
    "SymbolAnswer",
    "SymbolDetails",
    "UnclearName",
    "UnresolvedUse",
    "UnresolvedUses",
    "UsageError",
    "learn",
    "open",
]

_HOMES = {
    "golore.graph.changes.affected": "Affected",
    "golore.graph.errors": "GoloreError ModelUnavailable StoreError StoreMissing UsageError",
    "golore.graph.explore.explore": "Exploration Part",
    "golore.graph.knowledge.notes": "Anchor PinnedNote",
    "golore.graph.model.entities": "Edge File Package Symbol",
    "golore.graph.queries.answers": "Answer Impact Link Meaning Reached Ref Route Step StoreCounts SymbolAnswer "
    "SymbolDetails UnresolvedUse UnresolvedUses",
    "golore.graph.search.results.hits": "Hit Hits InnerHit",
    "golore.learner.pipeline.graph_step": "Report",
    "golore.mcp_server.api.public_repository": "Repository learn open",
    "golore.mcp_server.services.target_context": "ContextAnswer",
    "golore.mcp_server.services.targets": "UnclearName",
    "golore.mcp_server.services.knowledge.vectors": "Similar",
}
"""Module → the public names that it defines."""


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names.split():
            from importlib import import_module

            value = globals()[name] = getattr(import_module(home), name)
            return value
    raise AttributeError(f"module 'golore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
