"""What moves a model besides the numbers: order, names, templates, frequency. Unit: as named."""
