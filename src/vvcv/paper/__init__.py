"""Every construction and algorithm of the paper, behind `fit`."""
