"""Which small changes of shapecheck's own source no test notices."""
