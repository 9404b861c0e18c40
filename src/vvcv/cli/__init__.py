"""Commands: what a person would rather type than program."""
