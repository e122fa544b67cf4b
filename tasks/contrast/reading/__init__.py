"""What a family's episodes did, read from their bodies once and kept."""
