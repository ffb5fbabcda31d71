"""The controller over HTTP: REST, event streams, authorisation, audit, metrics.

Words: a *person* is whoever a request comes from, a token or somebody the issuer vouches for;
a *permission* is what a route needs; a *role* gives permissions, for some applications or all.

What people can ask for is done by `controller.service.Service`; this room only reads requests,
decides who may, and writes answers. Start reading at `app`.
"""
