"""Services of an application, and those that lead to one variant each.

`services` finds and copies them, `backends` names the one of each variant, `service_targets`
is the case where the Service itself is what is rolled out (Flagger: Service targets).

Imports `ownership`, `workloads` and `objects`. Start reading at `services`.
"""
