"""Runs: items from a file, a journal that survives a kill, results that anyone can recompute."""
