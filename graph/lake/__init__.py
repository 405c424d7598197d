"""The lake: a directory or bucket in which many repositories publish what golore knows about them.

May import everything in `graph` but `graph.transfer`. Every key is written once, by one writer, and a publication
counts only when its head is written, last. So nothing has to be compared and swapped, and no server is needed. Only
`method_shapes` knows anything about Go.
"""
