"""Parameters chosen by leave-one-out: what it costs, and what it gains."""
