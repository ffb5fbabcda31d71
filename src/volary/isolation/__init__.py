"""Programs that are not trusted, run without a network and within limits.

What they may use is bounded by `limits`; what this machine can keep them from is probed once
(`probing`). `isolated_programs` runs them, through `launcher`: a file that Python runs by itself
in a process of its own, so it imports nothing of Volary.

Imports `model` and `subprocesses`. Start reading at `isolated_programs`.
"""
