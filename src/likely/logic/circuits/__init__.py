"""Circuits: formulas compiled once, so that probabilities are read off in time linear in size."""
