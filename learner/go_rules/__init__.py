"""Rules of the go command that need no repository: go.mod and go.work, build constraints, GOPATH and GOROOT.

May import `graph`.
"""
