"""How well probabilities are calibrated with few labels."""
