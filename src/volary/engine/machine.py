"""The pure transition table of runs, stages and tasks."""
