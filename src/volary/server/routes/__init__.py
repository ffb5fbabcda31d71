"""The routes by noun; each module has a `router` whose routes all declare what they need."""
