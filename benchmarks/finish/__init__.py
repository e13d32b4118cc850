"""When the page to label on says that one can stop, and whether it is right."""
