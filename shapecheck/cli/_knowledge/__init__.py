"""What `shapecheck explain` tells of an op: its names, its signatures, its rule, an example."""
