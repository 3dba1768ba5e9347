"""The market in which a task publisher hires clients round by round under a budget (incentive spec, 2 to 8)."""
