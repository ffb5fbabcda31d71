"""Volary: one pipeline, every cluster.

The rooms of the house and what may import what are described in
``docs/explanation/architecture.md`` and checked by import-linter.
"""

__version__ = "0.1.0"
