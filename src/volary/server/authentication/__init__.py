"""Who a request comes from: API tokens, and tokens of an OpenID Connect issuer.

May import `server.permissions`. Start with `logins`.
"""
