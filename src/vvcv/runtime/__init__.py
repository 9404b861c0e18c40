"""Precision, threads, memory: what the machine gives."""
