"""Other ways to say which tokens of a prompt mattered, to compare the attribution with. Unit: nats.

Each asks a question of its own. Deletion: how much less likely is the response to a prompt without
the token? Replacement: to one with a named token in its place? ContextCite: what share does the
token have in a sparse linear model of the response's log-odds under random deletions? Shapley: what
is its share in what all tokens bring together? The gradients: how does the log-probability change
with the token's embedding? None of them averages over what else might stand there.
"""

from likely.attribution.baselines.registry import BASELINES as BASELINES
