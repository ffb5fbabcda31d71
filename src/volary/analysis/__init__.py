"""Judgement: from measurements to a verdict with its numbers and a sentence.

`statistics` and `verdicts` are pure, `metering` and `providers` ask metric systems. Imports
`volary.model`, `volary.config` and `volary.manifests`. Start reading at
`verdicts.rule_verdicts`; the tests it uses are in `statistics`. docs/explanation/how-volary-
decides.md explains them.
"""
