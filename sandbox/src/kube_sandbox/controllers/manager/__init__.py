"""Runs the controllers of one cluster.

`loop` is the entry: `event_handlers` say who has to look again after a change, `cache` is what
controllers read, `writer` carries their actions out and records Events. Imports all
controllers; none imports it.
"""
