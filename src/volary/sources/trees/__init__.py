"""Reading the files of one commit or directory, without ever leaving it.

`trees` is the interface, `directories` a plain directory as it is, `overlays` a tree with other
content in some of its files, `paths` joins paths safely.

Imports `model` only. Start reading at `trees`.
"""
