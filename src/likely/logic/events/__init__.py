"""From next-token rows to event probabilities."""
