"""Does every number of the tables follow from the archives? With code of its own, not with that of the tables."""
