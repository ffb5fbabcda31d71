"""From an HTTP request to a verb of the registry and back.

`resources` is the entry for everything that names a resource, `watching` streams changes,
`discovery` tells what is served; `bodies`, `protobuf`, `negotiation` and `encoding` are how
objects travel. May import everything else below `apiserver`.
"""
