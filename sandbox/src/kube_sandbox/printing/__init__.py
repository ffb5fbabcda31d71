"""Tables as the server prints them for ``kubectl get``.

`table.render` is the entry; `columns` says which columns a kind has, the files
named after groups of kinds compute their cells, `durations` writes ages.
"""
