"""Every SELECT has a name here: one file a topic."""
