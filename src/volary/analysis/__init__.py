"""Judgement: from measurements to a verdict with its numbers and a sentence.

Pure but for `providers`, which ask metric systems. Imports `volary.model` and `volary.config`.
Start reading at `verdict` (one rule on one cluster), then `fleet` (many clusters); the tests
they use are in `ranks`, `counts` and `sequential`. docs/explanation/how-volary-decides.md
explains the statistics.
"""
