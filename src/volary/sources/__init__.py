"""A commit becomes manifests."""
