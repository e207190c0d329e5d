"""Whether what is said from asked labels can be trusted, where the truth is known."""
