"""What `shapecheck coverage` measures, file by file, and the forms in which it is shown."""
