"""What all objects and answers share, as ``metav1`` has it.

Names and references (`objects`), conditions, label selectors, times, quantities, the Status of
a refusal (`api_errors`) and its causes. Imports nothing else of this distribution but
`kube_sandbox.json`.
"""
