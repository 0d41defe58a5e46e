"""Learning: trials, and the run folders that keep them."""
