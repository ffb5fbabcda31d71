"""One file for each released schema, in order."""
