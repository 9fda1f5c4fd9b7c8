"""The reader of foreign model files: takes out the configuration and the weights' shapes, and checks them.

Neither TensorFlow nor Keras is imported and nothing of a file is executed. What comes out is a `CheckedModel`.
"""

from planner_app.worker.inspect.reader import inspect

__all__ = ["inspect"]
