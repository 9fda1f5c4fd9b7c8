"""What cuDNN takes beside a convolution when it may have all it wants.

TensorFlow tries every algorithm on the device and keeps the fastest one whose workspace it gets (conv_ops_gpu.cc), up
to TF_CUDNN_WORKSPACE_LIMIT_IN_MB. For filters of 3 x 3 in float32 that is usually Winograd's transform in tiles of
4 x 4, which lays out every tile of the input and of the output as 6 x 6 numbers. A public log has the proof: the
largest request of a VGG16 of 300 x 300 pixels at batch 32 (tensorflow issue 36337, 3,335,127,040 bytes) is this to
the byte, with the two red zones of the autotuner. Fourier transforms in tiles are tried too, in every precision; with
many channels their transformed filters alone take a gigabyte.
"""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING

import tensorflow as tf

from planner_app.core.model.trace import Size
from planner_app.worker.kernels.compiled import CALLS, is_compiled
from planner_app.worker.kernels.reductions import CONVOLUTIONS

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Graph, Node

TILE, WINOGRAD_TILE_BYTES = 4, 36 * 4  # a tile's side in the output, and its 6 x 6 numbers once transformed
FFT_TILE, FFT_TILE_BYTES = (
    32,
    32 * 17 * 8,
)  # CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING: 32 x 32, half of it as complex numbers
COMMON_BATCH = 32  # at which one algorithm takes more than the other
BACKWARD = frozenset("Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInputV2 Conv3DBackpropFilterV2".split())
FILTER_OF = {"Conv2DBackpropFilter": 1, "Conv3DBackpropFilterV2": 1}
PICTURE = 4  # dimensions


def workspace(graph: Graph, node: Node) -> Size:
    """Nothing on a CPU, in a step that XLA compiles, and for operations other than convolutions."""
    if not graph.on_gpu or graph.xla:
        return Size()
    if node.type in CALLS and is_compiled(node):
        return _touched(graph, node)
    if (node.type not in CONVOLUTIONS and node.type not in BACKWARD) or node.type == "DepthwiseConv2dNative":
        return Size()
    kernel, image = _kernel(graph, node), _image(graph, node)
    if kernel is None or image is None:
        return Size()
    first = 2 if node.attribute("data_format", b"NHWC").startswith(b"NC") else 1
    if prod(kernel[:-2]) == 1:
        return _touched(graph, node) if first > 1 else Size()  # with the channels last it is a product of cuBLAS
    plain = all(set(node.attribute(name, [1])) == {1} for name in ("strides", "dilations"))
    if not plain or len(kernel) != PICTURE or max(kernel[:2]) > FFT_TILE:
        return _touched(graph, node)
    sides = image[first : first + 2]
    fft = [FFT_TILE - width + 1 for width in kernel[:2]]
    found = _transformed(graph, kernel, image[0], sides, fft, FFT_TILE_BYTES)
    if tuple(kernel[:2]) == (3, 3) and node.dtypes[0] == tf.float32:
        winograd = _transformed(graph, kernel, image[0], sides, [TILE, TILE], WINOGRAD_TILE_BYTES)
        found = max(found, winograd, key=lambda size: size.at(COMMON_BATCH))
    return found


def _transformed(
    graph: Graph, kernel: tuple[int, ...], batch: int, sides: tuple[int, ...], tile: list[int], tile_bytes: int
) -> Size:
    """Every tile of every channel of the input and of the output, and every filter, transformed."""
    tiles = prod(ceil(side / width) for side, width in zip(sides, tile, strict=True))
    pictures = graph.over_batch(batch * tiles * (kernel[2] + kernel[3]) * tile_bytes)
    filters = kernel[2] * kernel[3] * tile_bytes
    return Size(pictures.constant + filters, pictures.slope, pictures.square)


def _touched(graph: Graph, node: Node) -> Size:
    """Other algorithms' transforms are told nowhere: as much as all that they read and write, which is what kernels for
    tensor cores need that want the channels last and get them first."""
    sizes = [graph.size(shape, dtype) for shape, dtype in zip(node.shapes, node.dtypes, strict=True) if shape]
    for source, port in node.inputs:
        shape = graph.nodes[source].shapes[port]
        if shape:
            sizes.append(graph.size(shape, graph.nodes[source].dtypes[port]))
    return Size(sum(s.constant for s in sizes), sum(s.slope for s in sizes), sum(s.square for s in sizes))


def _kernel(graph: Graph, node: Node) -> tuple[int, ...] | None:
    if node.type in FILTER_OF:
        return node.shapes[0]
    source, port = node.inputs[1]
    return graph.nodes[source].shapes[port]


def _image(graph: Graph, node: Node) -> tuple[int, ...] | None:
    """The picture in whose tiles the transform works: what comes out, or what comes from behind."""
    if node.type not in BACKWARD or node.type.endswith(("BackpropInput", "BackpropInputV2")):
        return node.shapes[0]
    source, port = node.inputs[2]
    return graph.nodes[source].shapes[port]
