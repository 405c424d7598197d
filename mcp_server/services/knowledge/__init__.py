"""Services for what people and models wrote: notes, summaries, drafts, ratings, and the vectors of texts.

May import what `mcp_server.services` may.
"""
