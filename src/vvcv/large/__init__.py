"""Samples beyond an exact fit: a model tuned on some rows, then sums over blocks of all rows, read where they are."""
