"""Pictures: one style for all, files written whole or not at all, and one module per figure.

Matplotlib is imported when a picture is drawn, never before, and only its file backends are used.
"""
