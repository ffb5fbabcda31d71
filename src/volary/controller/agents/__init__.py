"""The agents that may connect, and what they are told and answered.

`run_orders` makes the orders of a run, `task_services` answers their tasks.
"""
