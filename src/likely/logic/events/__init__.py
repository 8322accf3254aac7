"""Events: from next-token rows to the probability that a model counts a continuation as viable."""
