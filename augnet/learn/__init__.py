"""Find out what leaves a label alone."""
