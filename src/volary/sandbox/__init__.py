"""Emulated clusters for the demo and the tests."""
