"""Which way an event lies: inputs by choices, scores with slopes, and laws that lean along them."""
