"""The page to label on: its journal, history, learner and server."""
