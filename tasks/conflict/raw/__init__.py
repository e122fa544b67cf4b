"""Raw episodes that contradict each other: what they state, and how they ended."""
