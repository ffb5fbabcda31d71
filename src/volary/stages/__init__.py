"""What each stage does on one cluster."""
