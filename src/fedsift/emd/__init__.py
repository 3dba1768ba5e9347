"""Earth mover's distances: between label distributions, between weights, and between signatures in general."""
