"""Asking metric systems for measurements.

Start reading at `provider_pool.open_providers`, which gives `provider_pool.Providers`: the one
thing that others call, with `query.Query` in and `query.Answer` out. `dialects` say what is
sent to each kind of system; `exchange` sends, bounded in every way.
"""
