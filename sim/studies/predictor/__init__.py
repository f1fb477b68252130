"""What a length predictor is worth to a server: direction and size of its error, delay, drift, money."""
