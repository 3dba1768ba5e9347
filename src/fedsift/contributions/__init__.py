"""What each participant of a round contributes, and its share of the round's budget (EMFedAvg spec, 5)."""
