"""The routes by noun; each module has a `router` whose routes all declare what they need.

May import `server.http`, `server.authorization` and below; not `app` or `hosting`. Start with
`applications`.
"""
