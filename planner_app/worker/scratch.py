from __future__ import annotations
def scratch_of(node, inputs, shapes, graph): return None
