"""``python -m lasec.cli``: the same as the command ``lasec``."""

from lasec.cli import main

main()
