"""One file a format; ``registry`` knows them all."""
