"""Models that tell only a part of their distribution: bounds, biases, samples. Unit: prob."""
