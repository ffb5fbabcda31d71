"""A run as frozen values: its state and how one state becomes another.

Words: `state.Run` holds stages, a stage groups, a group one task per cluster; *policies* are
the rules fixed at its start; *counters* and the *cluster index* remember what was counted.
Pure.

May import `volary.model`. Start reading at `state`, then `run_builder`.
"""
