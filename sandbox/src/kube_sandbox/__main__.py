"""``python -m kube_sandbox`` is ``kube-sandbox``."""

from kube_sandbox.cli import main

main.main()
