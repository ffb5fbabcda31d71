"""Replaying recorded answers of a real kube-apiserver and telling where another one differs."""
