"""ProbCT: a probabilistic consistency test of our own, in seven families."""
