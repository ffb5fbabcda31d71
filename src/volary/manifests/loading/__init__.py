"""Text becomes manifests in order, and manifests become text.

`documents` parses and checks, `object_keys` and `namespace_scopes` give objects their identity,
`apply_order` sorts them; `serialization` writes YAML and JSON; `yaml_edits` changes
values inside the text of a document.

Imports `objects`. Start reading at `documents.parse`.
"""
