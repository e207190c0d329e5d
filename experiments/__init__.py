"""The paper's experiments, from one command: ``python -m experiments``."""
