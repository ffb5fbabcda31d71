"""The command ``kube-sandbox``; other command lines mount `commands.app` as a group of theirs.

Start reading at `commands`, the commands and their options; `clusters` and `loading` do the work.
"""
