"""Cards: their text, their storage, and which of them an edit affects.

May import `graph.knowledge` and below. `card_store` runs in the hook process and imports only C modules of the
standard library.
"""
