"""The kinds and their types: what a Kubernetes release describes, and what custom resources add.

`kinds` are the served kinds, `schema` is the one value per kind that others take, `types` one
node of its structure. `catalog` reads the built-in types from the packaged `data`, `go_structs`
adds what OpenAPI does not carry, `internal_structs` has how messages show objects. `decoding`
reads objects as the server does, `defaults` fills in. May import `meta`.
"""
