"""What is minimised: a loss, norms and a graph, for values of functions on points."""
