"""fedsift: federated-learning papers, reproduced and auditable."""
