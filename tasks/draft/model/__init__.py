"""The model drafter's pure parts: what a model is shown, what it may answer, and what of the answer is believed."""
