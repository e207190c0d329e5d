"""Tables of texts and other columns: what each part, and both together, are worth."""
