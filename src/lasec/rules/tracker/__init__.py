"""The Tracker: a mixture over when the concept began, its drift and label noise, over any view."""
