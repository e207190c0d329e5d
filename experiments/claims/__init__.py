"""Every claim of the paper, each judged by the runs."""
