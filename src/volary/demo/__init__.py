"""The demo: scenarios on emulated clusters, played from beginning to end by `volary demo`.

What the extra `sandbox` brings is used here alone (package `kube_sandbox`). May import
everything below it, the command line included; nothing imports it but `volary.main`. Start with
`harness`, then `scenarios.release`.
"""
