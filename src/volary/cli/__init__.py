"""Thin commands: data on stdout, talk on stderr.

`main` declares the commands and imports nothing heavy, so that ``volary --help``
stays quick; each command's work is in a module of its own, imported when it runs.
Words: a *view* shows a run while it happens (live, plain lines, or JSON lines).
"""
