"""The endpoints, one file a topic: load, build a view, answer."""
