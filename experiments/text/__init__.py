"""Five streams of texts: accuracy at label budgets, time of a row, memory against words seen."""
