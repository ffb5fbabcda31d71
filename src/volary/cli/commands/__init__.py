"""The commands and their options as typer sees them; no work is done here.

Every command imports its work when it runs, so that `--help` stays fast. May import the other
sub-packages of `cli`; nothing imports it but `volary.main` and `volary.demo.commands`. Start
with `root`.
"""
