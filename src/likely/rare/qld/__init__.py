"""Quadratic logit decomposition: parts of activations recombined in pairs. Unit: nats."""
