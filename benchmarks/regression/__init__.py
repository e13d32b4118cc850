"""Numbers to predict from few: methods on known targets alone, and those that see all rows."""
