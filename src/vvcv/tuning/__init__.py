"""Finding good parameters: starts, search, one minimisation."""
