"""The tools of the team server that differ from those of a server for one user."""
