"""The questions: items, their wordings and numbers, and the families that make them. Unit: none."""
