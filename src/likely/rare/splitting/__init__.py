"""Multilevel splitting: small probabilities as products of larger ones. Unit: nats.

Everything here is abstract: a prior of states and a score of states, whose event is a score of at
least a threshold. What is estimated is the event's probability *under the prior*.
"""
