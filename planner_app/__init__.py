"""Plimsoll: how much Keras training a GPU can carry before it runs out of memory."""

__version__ = "0.1.0"
