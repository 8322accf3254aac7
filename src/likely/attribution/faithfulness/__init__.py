"""Whether scores of a prompt's tokens tell which of them the response needs. Unit: nats.

Tokens are taken out of the prompt in the order of their scores, and the response is scored after
what is left. How they are taken out is a choice (`likely.attribution.removal`) and part of every
result. It is never neutral: a curve that deletes favours scores that were found by deleting, one
that draws from posteriors favours the attribution by Bayes' rule, and each asks the model about
prompts that the other never shows it. A result says by the flag ``same_removal`` where the scores
were found in the way that they are tested; compare methods under more than one removal.
"""
