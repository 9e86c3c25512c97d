"""What `shapecheck trace` does: loads a model, runs it once, and shows what its tensors do."""
