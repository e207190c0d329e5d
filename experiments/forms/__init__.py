"""The forms of the Tracker: wide rows, many classes, late answers, and a small state."""
