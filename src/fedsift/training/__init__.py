"""Federated training: the one round loop, local training, random streams, checkpoints."""
