"""The API server: REST, event streams, authentication, authorization, audit, metrics.

Words: a *person* is whoever a request comes from, a token or somebody the issuer vouches for; a
*permission* is what a route needs; a *role* gives permissions, for some applications or all.
What people ask for is done by `controller.service.Service`; this package only reads requests,
decides who may, and writes answers. Start with `app`, then `routes`.
"""
