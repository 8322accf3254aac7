"""Chains over inputs under tilted laws, and the way back to the law itself."""
