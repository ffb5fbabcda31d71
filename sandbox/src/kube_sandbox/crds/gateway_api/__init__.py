"""The Gateway API's kinds, written after its documentation.

`definitions` is the entry; `routes` and `gateways` are the specs, `fields` is what they share. May
import `crds.schemas`.
"""
