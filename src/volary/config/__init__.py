"""What users write, checked and turned into the model: dialects, fleet files, lint, schema."""
