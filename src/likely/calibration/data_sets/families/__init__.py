"""The families of items: one file each. Unit: none."""
