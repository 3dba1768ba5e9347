"""The market laboratory: mechanisms alone on a bid log, without training."""
