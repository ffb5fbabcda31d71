"""``python -m volary`` is the `volary` command."""

from volary.cli import main

main.main()
