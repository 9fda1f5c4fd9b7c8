"""A graph's operations with the shapes and dtypes that TensorFlow infers for what they put out.

`tf.import_graph_def` does the same and then asks Python about each operation's device and colocation, which takes three
times as long. Nobody here runs the operations, so nobody needs to know.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import c_api_util, ops


def imported(definition: Any) -> dict[str, Any]:
    """The operations by name."""
    graph = tf.Graph()
    options = c_api_util.ScopedTFImportGraphDefOptions()
    buffer = c_api.TF_NewBufferFromString(definition.SerializeToString())
    try:
        with graph._c_graph.get() as c_graph:
            results = c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
        c_api_util.ScopedTFImportGraphDefResults(results)
    finally:
        c_api.TF_DeleteBuffer(buffer)
    return {operation.name: operation for operation in (_wrapped(each, graph) for each in graph.new_operations())}


def _wrapped(operation: Any, graph: tf.Graph) -> Any:
    return ops.Operation._from_c_op(c_op=operation, g=graph)
