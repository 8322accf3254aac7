"""What can be done about probabilities that do not follow the numbers, each before and after.

A remedy takes what is known of items (their masses, and what else it asks the model for) to new
masses or shares. `remedy` has the table of all of them, `comparison` the report.
"""
