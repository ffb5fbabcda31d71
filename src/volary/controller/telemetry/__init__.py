"""What runs leave behind for those who operate Volary: metrics, and spans of traces.

Both are read off a run that has ended, so a run that several processes carried out one after
another counts once, with all of it. May import the engine's runs, `telemetry` and `model`.
Start reading at `run_metrics`.
"""
