"""``python -m volary`` is the `volary` command."""

from volary import main

main.run()
