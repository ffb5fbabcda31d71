"""What observers of a run see: its feed of events, and sentences on what it is doing.

May import `engine.runs`, `engine.state_machine` and `engine.executor`. Pure.
Start reading at `feed`.
"""
