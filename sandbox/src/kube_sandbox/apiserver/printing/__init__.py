"""Tables as the server prints them for ``kubectl get``.

`table.render` is the entry; the modules named after groups of kinds compute their cells,
`custom` the columns that a CustomResourceDefinition asks for, `durations` writes ages. May
import `apimachinery.meta`.
"""
