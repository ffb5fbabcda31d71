"""Decides where, in which order and in which share an application runs. Pure."""
