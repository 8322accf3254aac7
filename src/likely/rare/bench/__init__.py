"""Estimators against the truth: which methods find how rare an output is, at an equal budget."""
