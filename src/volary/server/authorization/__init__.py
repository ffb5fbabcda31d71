"""What a request may do: declared by its route, checked by the guard, narrowed to visible
applications.

May import `server.server_state`, `server.authentication` and `server.permissions`. Start with
`access`, then `guard`.
"""
