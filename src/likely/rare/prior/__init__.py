"""Laws of a model's activations that can be drawn from and evaluated far out. Unit: nats.

A prior is fitted to states (rows of activations) and then speaks in *whitened* coordinates
``u``, in which its scale matrix is the identity: ``state = centre + factor u``.
"""
