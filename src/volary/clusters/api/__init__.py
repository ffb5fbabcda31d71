"""The Kubernetes API as plain values: nothing is sent here.

`requests` says what is asked and reads pages of lists, `discovery` which kinds a cluster
serves, `api_errors` what a refusal means, `label_selectors` how objects are chosen.

Imports `model` only. Start reading at `requests`.
"""
