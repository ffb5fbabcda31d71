"""The composition root: from what a user points at to a run that is carried out.

Words: a *opened* is an application at one commit, opened; *preparation* finds out
everything a run needs before anything is written. May import every package below; the
command line and the server stand on it. Start reading at `planning.preparation`.
"""
