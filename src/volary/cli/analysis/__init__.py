"""`volary analysis`: what was measured in a run, and metrics tried without one.

May import `cli.remote`. Start with `run_findings`; `findings_table` is pure.
"""
