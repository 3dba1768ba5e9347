"""Ways of sharing samples out, one module each: labels [N] in, positions 0..N-1 of every client out."""
