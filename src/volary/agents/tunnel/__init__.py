"""Streams of bytes over one WebSocket, and the proxy in which they end.

`frames` is what is sent; `tunnels` has both ends: only the server's opens streams. Each stream has
credit of its own, so that a slow reader stops nobody else. `guard_proxy` is the HTTP server inside
the agent: it reads requests, asks `agents.policy`, and sends what is permitted with the agent's own
credentials.

Start reading at `tunnels`.
"""
