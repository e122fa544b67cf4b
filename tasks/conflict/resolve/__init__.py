"""A person's decision about a conflict."""
