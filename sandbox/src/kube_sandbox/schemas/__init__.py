"""What Kubernetes knows about its types, as pure functions on JSON objects.

No input or output here except reading the packaged description of the built-in
kinds once. Nothing mutates its arguments; results share unchanged structure
with them, so callers must treat every object as read only.

Where to start, in the order a write passes through:

- `schema`: ``builtin(group, version, kind) -> Schema | None`` and
  ``custom(group, version, kind, open_api_schema, ...) -> Schema``: one value per
  served kind that all other modules take.
- `decoding`: ``decode(schema, body) -> Decoded(body, unknown)`` reads an object as
  the server would (unknown fields dropped and named, quantities canonical, empty
  optional fields gone); raises `decoding.DecodeError`.
  `fields.duplicates(text) -> list[str]` finds repeated keys.
- `defaults`: ``apply(schema, body) -> body``; ``initial_status(schema)``.
- patches: ``strategic.merge(schema, live, patch)``, ``mergepatch.apply(live, patch)``,
  ``jsonpatch.apply(live, operations)``; each raises ``patcherror.PatchError``.
- `managed`: ``apply(schema, live, applied, manager=..., force=..., now=...) -> Result``
  (server-side apply; raises ``managed.ConflictError``, ``managed.TypedError``,
  ``managed.BadApplyError``) and ``update(schema, live, new, manager=..., now=...) -> body``
  for every other write; both keep ``metadata.managedFields``.
- `validation`: ``check(schema, body, old=None) -> list[causes.Cause]``;
  ``causes.message(...)`` puts them into the sentence the server says.
- `structural`: custom resources: prune, default, validate, and the checks on a
  CustomResourceDefinition itself.
- `openapi`: the documents below ``/openapi/v3``.
- `quantity`, `selectors`: small values many need.

May import the standard library, msgspec and `kube_sandbox.json`.
"""
