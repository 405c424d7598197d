"""The pages: one module for each, which queries the graph and returns the values of its template."""
