"""Flagger's ``Canary``, ``MetricTemplate`` and ``AlertProvider`` (``flagger.app/v1beta1``).

They are translated into a file of our own dialect, which is then read like any other: so
what a Canary means here can be printed (``volary convert flagger``), and the two forms
cannot drift apart. Start reading at `translation`; `schema` is the form of the files.
"""
