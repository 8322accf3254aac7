"""How likely is an output that nobody has seen? Unit: nats."""
