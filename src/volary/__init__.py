"""Volary: one pipeline, every cluster.

``docs/explanation/architecture.md`` shows the packages and what may import what; import-linter
checks it. Start reading at `model.applications`, then `engine.state_machine.machine`.
"""

__version__ = "0.1.0"
