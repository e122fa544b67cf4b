"""What importers are made of: shared readers and writers, and the parts of the larger formats."""
