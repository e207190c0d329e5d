"""Whether what is said of a stream can be believed, though its labels were not asked at random."""
