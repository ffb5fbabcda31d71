"""Thin commands: data on stdout, talk on stderr."""
