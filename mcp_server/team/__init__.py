"""The team server: `golore serve --lake` answers a whole team from the newest published stores of a lake.

May import `mcp_server.server` and all below it. A request is answered from files and from the token that it brings:
no state is kept between requests, so any of several processes may answer any of them.
"""
