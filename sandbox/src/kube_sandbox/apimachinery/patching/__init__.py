"""The patch types, and server-side apply.

`json_patch`, `merge_patch` and `strategic_merge` raise `patch_errors.PatchError`.
`managed_fields` is server-side apply and the tracking of field managers: `structured_merge`
merges and compares typed values, `field_sets` are what is owned, `field_ownership` by whom. May
import `meta` and `scheme`.
"""
