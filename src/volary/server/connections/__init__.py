"""Connections: which are taken, how long each may take, which is ended when there is no room.

Words: the *holder* of a connection is whom a limit per address counts, an address or an IPv6
network; a connection's *phase* is what it waits for; *evicting* is ending one that waits so that
another can be served. `connection_table` decides, purely; `listening` accepts sockets and ends
connections; `http_connection` tells it of the phases of HTTP. What all requests share, with a
share for each holder, is counted by `budgets` and `request_rates`. Start with `bounds`.
"""
