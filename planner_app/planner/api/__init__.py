"""The Python API: a model handle, its answers, live models, progress."""
