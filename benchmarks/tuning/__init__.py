"""Cost and benefit of the selection of parameters by leave-one-out."""
