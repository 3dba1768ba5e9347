"""Data sets: what exists (catalog), how it gets here (fetch), what it holds (read), how it is fitted (images)."""
