"""One HTML page of a results folder or of a run: gathered here, laid out in templates/, complete in a single file."""
