"""Runs: items from a file, a journal that survives a kill, and results that anyone can recompute."""
