"""Detectors of noisy samples, used by the methods."""
