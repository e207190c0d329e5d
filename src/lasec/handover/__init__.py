"""Questions of a service to people elsewhere, and their answers back: see ``exchange``."""
