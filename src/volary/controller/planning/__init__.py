"""From a commit to the plan of a run: nothing is written to any cluster here.

Words: a *opened* is an application at one commit, opened; *preparation* finds out everything a
run needs; *preflight* tries it on every cluster by server-side dry run. The command line uses
it as well. May import `persistence` (what this machine remembers). Start reading at
`preparation`.
"""
