"""The servers of pods.

`pods` keeps them in step with the cluster, on `loopback` addresses; `answers` is what they say,
`counters` what they count, `exposition` how Prometheus reads it, `traffic_metrics` what can be
asked about all of them.
"""
