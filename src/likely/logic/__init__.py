"""The study of constraints: which formulas over token predictions a model satisfies."""
