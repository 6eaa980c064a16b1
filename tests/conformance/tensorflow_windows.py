"""Cases of convolutions, pooling, normalization and resizing."""

import numpy as np
from tensorflow_operators import array, case, integers, normal, op, uniform


def conv(
    name, image, kernel, strides=1, padding="SAME", dilations=1, dtype="float32", operator="Conv2D", **more
):
    """A convolution with a constant kernel; strides and dilations of height and width."""

    def four(value):
        return [1, *(value if isinstance(value, tuple) else (value, value)), 1]

    return op(
        f"{operator}.{name}",
        {"input": normal(*image, dtype=dtype)},
        filter=normal(*kernel, dtype=dtype),
        strides=four(strides),
        padding=padding,
        dilations=four(dilations),
        **more,
    )


CONVOLUTIONS = [
    conv("3x3", (1, 8, 8, 3), (3, 3, 3, 8)),
    conv("3x3_valid", (1, 8, 9, 3), (3, 3, 3, 8), padding="VALID"),
    conv("1x1", (2, 5, 7, 16), (1, 1, 16, 8)),
    conv("1x1_stride2", (2, 7, 8, 16), (1, 1, 16, 8), 2),
    conv("7x7_stride2", (1, 23, 22, 3), (7, 7, 3, 16), 2),
    conv("even_kernel", (1, 7, 8, 4), (2, 4, 4, 5)),
    conv("even_kernel_stride2", (1, 7, 8, 4), (4, 2, 4, 5), 2),
    conv("flat_kernel", (1, 9, 9, 4), (1, 7, 4, 6)),
    conv("tall_kernel", (1, 9, 9, 4), (5, 1, 4, 6), (2, 1), "VALID"),
    conv("same_stride2_even", (1, 8, 8, 4), (3, 3, 4, 8), 2),
    conv("same_stride2_odd", (1, 9, 9, 4), (3, 3, 4, 8), 2),
    conv("stride3", (1, 11, 10, 4), (3, 3, 4, 8), 3),
    conv("stride_larger_than_kernel", (1, 9, 9, 4), (2, 2, 4, 8), 3, "VALID"),
    conv("dilated", (1, 12, 11, 4), (3, 3, 4, 8), 1, "SAME", 2),
    conv("dilated_valid", (1, 12, 11, 4), (3, 3, 4, 8), 1, "VALID", (2, 3)),
    conv("kernel_larger_than_image", (1, 3, 2, 4), (5, 5, 4, 8)),
    conv("explicit", (1, 7, 7, 4), (3, 3, 4, 8), 2, "EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]),
    conv("wide", (1, 6, 6, 64), (3, 3, 64, 48)),
    conv("one_channel", (3, 9, 9, 1), (3, 3, 1, 1)),
    conv("float64", (1, 6, 6, 3), (3, 3, 3, 4), dtype="float64"),
    conv("float16", (1, 6, 6, 3), (3, 3, 3, 4), dtype="float16"),
    conv("grouped", (1, 8, 8, 8), (3, 3, 4, 6)),
    conv("grouped_stride2", (1, 9, 8, 12), (3, 3, 3, 8), 2, "VALID"),
    op(
        "Conv2D.fed_kernel",
        {"input": normal(1, 8, 8, 3), "filter": normal(3, 3, 3, 5)},
        strides=[1, 1, 1, 1],
        padding="SAME",
    ),
    case(
        "Conv2D.bias_relu",
        {"x": normal(1, 8, 8, 3)},
        lambda tf, x: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, ramp(3, 3, 3, 8), 1, "SAME"), ramp(8))),
    ),
    case(
        "Conv2D.padded_before",
        {"x": normal(1, 8, 8, 3)},
        lambda tf, x: tf.nn.conv2d(tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]]), ramp(3, 3, 3, 8), 2, "VALID"),
    ),
    case(
        "Conv2D.batch_norm",
        {"x": normal(2, 8, 8, 3)},
        lambda tf, x: tf.nn.relu6(
            tf.raw_ops.FusedBatchNormV3(
                x=tf.nn.conv2d(x, ramp(3, 3, 3, 8), 1, "SAME"),
                scale=ramp(8),
                offset=ramp(8),
                mean=ramp(8),
                variance=ramp(8) ** 2 + 0.5,
                is_training=False,
            )[0]
        ),
    ),
    case("Conv1D", {"x": normal(2, 20, 6)}, lambda tf, x: tf.nn.conv1d(x, ramp(3, 6, 8), 1, "SAME")),
    case("Conv1D.stride2", {"x": normal(2, 21, 6)}, lambda tf, x: tf.nn.conv1d(x, ramp(4, 6, 8), 2, "VALID")),
    case(
        "Conv1D.dilated",
        {"x": normal(2, 20, 6)},
        lambda tf, x: tf.nn.conv1d(x, ramp(3, 6, 8), 1, "SAME", dilations=3),
    ),
    case(
        "Conv1D.causal",
        {"x": normal(2, 20, 6)},
        lambda tf, x: tf.nn.conv1d(
            tf.pad(x, [[0, 0], [4, 0], [0, 0]]), ramp(3, 6, 8), 1, "VALID", dilations=2
        ),
    ),
    case("Convolution.space_to_batch", {"x": normal(1, 12, 12, 4)}, lambda tf, x: dilated_by_blocks(tf, x)),
    op(
        "Conv3D",
        {"input": normal(1, 5, 6, 7, 3)},
        filter=normal(3, 3, 3, 3, 4),
        strides=[1] * 5,
        padding="SAME",
    ),
    op(
        "Conv3D.stride2",
        {"input": normal(1, 5, 6, 7, 3)},
        filter=normal(2, 3, 2, 3, 4),
        strides=[1, 2, 1, 2, 1],
        padding="VALID",
    ),
    op(
        "Conv3D.same_stride2",
        {"input": normal(1, 6, 7, 8, 3)},
        filter=normal(3, 3, 3, 3, 4),
        strides=[1, 2, 2, 2, 1],
        padding="SAME",
    ),
    op(
        "Dilation2D",
        {"input": normal(1, 8, 8, 3)},
        filter=normal(3, 3, 3),
        strides=[1, 1, 1, 1],
        rates=[1, 2, 2, 1],
        padding="SAME",
    ),
]

DEPTHWISE = [
    conv(name, image, kernel, operator="DepthwiseConv2dNative", **more)
    for name, image, kernel, more in (
        ("3x3", (1, 8, 9, 16), (3, 3, 16, 1), {}),
        ("stride2", (1, 8, 8, 16), (3, 3, 16, 1), {"strides": 2}),
        ("stride2_odd", (1, 9, 9, 8), (5, 5, 8, 1), {"strides": 2}),
        ("multiplier2", (1, 8, 8, 6), (3, 3, 6, 2), {}),
        ("multiplier3_stride2", (2, 7, 7, 4), (3, 3, 4, 3), {"strides": 2, "padding": "VALID"}),
        ("dilated", (1, 12, 12, 8), (3, 3, 8, 1), {"dilations": 2}),
        ("even_kernel", (1, 8, 8, 8), (2, 4, 8, 1), {}),
        ("one_channel", (1, 8, 8, 1), (3, 3, 1, 4), {}),
        (
            "explicit",
            (1, 7, 7, 4),
            (3, 3, 4, 1),
            {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 2, 1, 1, 0, 0]},
        ),
        ("float64", (1, 6, 6, 3), (3, 3, 3, 1), {"dtype": "float64"}),
    )
] + [
    case(
        "DepthwiseConv2dNative.separable",
        {"x": normal(1, 8, 8, 6)},
        lambda tf, x: tf.nn.separable_conv2d(x, ramp(3, 3, 6, 2), ramp(1, 1, 12, 5), [1, 1, 1, 1], "SAME"),
    )
]


def transposed(name, sizes, kernel, small, strides, padding, **more):
    return op(
        f"Conv2DBackpropInput.{name}",
        {"out_backprop": normal(*small)},
        input_sizes=list(sizes),
        filter=normal(*kernel),
        strides=[1, *strides, 1],
        padding=padding,
        **more,
    )


TRANSPOSED = [
    transposed("same_stride2", (1, 10, 12, 5), (3, 3, 5, 4), (1, 5, 6, 4), (2, 2), "SAME"),
    transposed("same_stride2_odd", (1, 9, 11, 5), (3, 3, 5, 4), (1, 5, 6, 4), (2, 2), "SAME"),
    transposed("valid_stride2", (1, 11, 13, 5), (3, 3, 5, 4), (1, 5, 6, 4), (2, 2), "VALID"),
    transposed("valid_larger", (1, 12, 14, 5), (3, 3, 5, 4), (1, 5, 6, 4), (2, 2), "VALID"),
    transposed("same_stride1", (2, 5, 6, 5), (3, 3, 5, 4), (2, 5, 6, 4), (1, 1), "SAME"),
    transposed("even_kernel", (1, 10, 12, 5), (4, 4, 5, 4), (1, 5, 6, 4), (2, 2), "SAME"),
    transposed("stride3", (1, 15, 12, 5), (2, 4, 5, 4), (1, 5, 6, 4), (3, 2), "SAME"),
    transposed("kernel_smaller_than_stride", (1, 15, 18, 2), (2, 2, 2, 4), (1, 5, 6, 4), (3, 3), "VALID"),
    transposed(
        "explicit",
        (1, 9, 11, 5),
        (3, 3, 5, 4),
        (1, 5, 6, 4),
        (2, 2),
        "EXPLICIT",
        explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0],
    ),
    case(
        "Conv2DBackpropInput.open_batch",
        {"x": normal(2, 5, 6, 4)},
        lambda tf, x: tf.nn.conv2d_transpose(x, ramp(3, 3, 5, 4), [tf.shape(x)[0], 10, 12, 5], 2),
        open=("x",),
    ),
    case(
        "Conv1DTranspose",
        {"x": normal(2, 7, 4)},
        lambda tf, x: tf.nn.conv1d_transpose(x, ramp(3, 5, 4), [2, 14, 5], 2),
    ),
    op(
        "Conv3DBackpropInputV2",
        {"out_backprop": normal(1, 3, 3, 4, 4)},
        input_sizes=[1, 6, 6, 8, 3],
        filter=normal(3, 3, 3, 3, 4),
        strides=[1, 2, 2, 2, 1],
        padding="SAME",
    ),
]

POOLING = [
    *(
        op(
            f"{name}.{what}",
            {"input" if name == "MaxPool" else "value": normal(*shape)},
            ksize=[1, *size, 1],
            strides=[1, *strides, 1],
            padding=padding,
        )
        for name in ("MaxPool", "AvgPool")
        for what, shape, size, strides, padding in (
            ("2x2", (1, 8, 8, 5), (2, 2), (2, 2), "VALID"),
            ("3x3_stride2_same_even", (1, 8, 8, 5), (3, 3), (2, 2), "SAME"),
            ("3x3_stride2_same_odd", (2, 9, 7, 5), (3, 3), (2, 2), "SAME"),
            ("3x3_stride1", (1, 7, 7, 5), (3, 3), (1, 1), "SAME"),
            ("2x3_uneven", (1, 9, 10, 3), (2, 3), (3, 2), "VALID"),
            ("even_same", (1, 7, 7, 4), (2, 2), (1, 1), "SAME"),
            ("whole", (2, 6, 5, 8), (6, 5), (1, 1), "VALID"),
            ("5x5_same", (1, 6, 6, 4), (5, 5), (2, 2), "SAME"),
        )
    ),
    op(
        "MaxPool.explicit",
        {"input": normal(1, 7, 7, 4)},
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0],
    ),
    op(
        "MaxPool.negative",
        {"input": uniform(-9, -1, 1, 7, 7, 4)},
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    op(
        "MaxPool.float64",
        {"input": normal(1, 7, 7, 4, dtype="float64")},
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    op(
        "MaxPool.int32",
        {"input": integers(-9, 9, 1, 6, 6, 4)},
        ksize=[1, 2, 2, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    op(
        "AvgPool.float16",
        {"value": normal(1, 7, 7, 4, dtype="float16")},
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    op("MaxPoolV2", {"input": normal(1, 7, 7, 4)}, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
    op(
        "MaxPoolWithArgmax",
        {"input": normal(1, 6, 6, 4)},
        ksize=[1, 2, 2, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    *(
        op(
            f"{name}.{padding.lower()}",
            {"input": normal(1, 5, 6, 7, 3)},
            ksize=[1, 2, 3, 2, 1],
            strides=[1, 2, 2, 2, 1],
            padding=padding,
        )
        for name in ("MaxPool3D", "AvgPool3D")
        for padding in ("SAME", "VALID")
    ),
    case("MaxPool.1d", {"x": normal(2, 15, 4)}, lambda tf, x: tf.nn.max_pool1d(x, 3, 2, "SAME")),
    case("AvgPool.1d", {"x": normal(2, 15, 4)}, lambda tf, x: tf.nn.avg_pool1d(x, 2, 2, "VALID")),
    case("Mean.global_pool", {"x": normal(2, 6, 5, 8)}, lambda tf, x: tf.reduce_mean(x, [1, 2])),
    case("Max.global_pool", {"x": normal(2, 6, 5, 8)}, lambda tf, x: tf.reduce_max(x, [1, 2], keepdims=True)),
]


def batch_norm(name, operator="FusedBatchNormV3", shape=(2, 5, 6, 4), dtype="float32", channels=4, **more):
    def build(tf, x):
        scale, offset, mean = ramp(channels) + 1, ramp(channels), ramp(channels) * 2
        return getattr(tf.raw_ops, operator)(
            x=x,
            scale=scale,
            offset=offset,
            mean=mean,
            variance=ramp(channels) ** 2 + 0.3,
            is_training=False,
            **more,
        )[0]

    return case(f"{operator}.{name}", {"x": normal(*shape, dtype=dtype)}, build)


NORMALIZATION = [
    op("BiasAdd.rank2", {"value": normal(3, 5)}, bias=normal(5)),
    op("BiasAdd.rank3", {"value": normal(2, 3, 5)}, bias=normal(5)),
    op("BiasAdd.rank4", {"value": normal(2, 3, 4, 5)}, bias=normal(5)),
    op("BiasAdd.nchw", {"value": normal(2, 5, 3, 4)}, bias=normal(5), data_format="NCHW"),
    op("BiasAdd.fed", {"value": normal(3, 5), "bias": normal(5)}),
    op("BiasAddV1", {"value": normal(3, 5)}, bias=normal(5)),
    batch_norm("nhwc"),
    batch_norm("epsilon", epsilon=0.01),
    batch_norm("float16", dtype="float16"),
    batch_norm("nchw", shape=(2, 4, 5, 6), data_format="NCHW"),
    batch_norm("v1", "FusedBatchNorm"),
    batch_norm("v2", "FusedBatchNormV2"),
    case(
        "FusedBatchNormV3.training",
        {"x": normal(3, 5, 6, 4)},
        lambda tf, x: tf.raw_ops.FusedBatchNormV3(
            x=x, scale=ramp(4) + 1, offset=ramp(4), mean=[], variance=[], is_training=True
        )[0],
    ),
    case(
        "FusedBatchNormV3.fed",
        {
            "x": normal(2, 5, 6, 4),
            "scale": normal(4),
            "offset": normal(4),
            "mean": normal(4),
            "variance": uniform(0.5, 2, 4),
        },
        lambda tf, **values: tf.raw_ops.FusedBatchNormV3(**values, is_training=False)[0],
    ),
    op("LRN", {"input": normal(1, 4, 5, 12)}),
    op("LRN.small", {"input": normal(1, 4, 5, 12)}, depth_radius=2, bias=2.0, alpha=0.01, beta=0.75),
    op("L2Loss", {"t": normal(4, 5)}),
    case(
        "Idiom.batch_normalization",
        {"x": normal(4, 6)},
        lambda tf, x: tf.nn.batch_normalization(x, ramp(6), ramp(6) ** 2 + 0.5, ramp(6), ramp(6) + 1, 1e-3),
    ),
    case("Idiom.layer_normalization", {"x": normal(4, 6, 16)}, lambda tf, x: layer_normalization(tf, x)),
    case("Idiom.l2_normalize", {"x": normal(4, 6)}, lambda tf, x: tf.nn.l2_normalize(x, 1)),
    case("Idiom.moments", {"x": normal(4, 6)}, lambda tf, x: tf.nn.moments(x, [0])),
]

RESIZING = [
    *(
        op(
            f"{name}.{what}_{size[0]}x{size[1]}",
            {"images": normal(1, 6, 5, 3)},
            size=np.array(size, "int32"),
            half_pixel_centers=half,
            align_corners=corners,
        )
        for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
        for what, half, corners in (
            ("half_pixel", True, False),
            ("corners", False, True),
            ("plain", False, False),
        )
        for size in ((12, 10), (9, 13), (3, 2), (6, 5), (1, 1))
        if not (name == "ResizeNearestNeighbor" and size == (1, 1) and corners)
    ),
    op(
        "ResizeBilinear.int32",
        {"images": integers(0, 255, 1, 4, 4, 3)},
        size=np.array([7, 7], "int32"),
        half_pixel_centers=True,
    ),
    op(
        "ResizeBilinear.uint8",
        {"images": integers(0, 255, 1, 4, 4, 3, dtype="uint8")},
        size=np.array([7, 7], "int32"),
        half_pixel_centers=True,
    ),
    op(
        "ResizeNearestNeighbor.uint8",
        {"images": integers(0, 255, 1, 4, 4, 3, dtype="uint8")},
        size=np.array([7, 9], "int32"),
        half_pixel_centers=True,
    ),
    op("ResizeArea", {"images": normal(1, 6, 6, 3)}, size=np.array([3, 4], "int32")),
    op(
        "CropAndResize",
        {
            "image": normal(2, 8, 8, 3),
            "boxes": uniform(0.05, 0.95, 3, 4),
            "box_ind": array([0, 1, 0], "int32"),
        },
        crop_size=[4, 5],
    ),
    case(
        "ResizeBilinear.open_sizes",
        {"x": normal(1, 5, 6, 3)},
        lambda tf, x: tf.image.resize(x, tf.shape(x)[1:3] * 2),
        open=("x",),
    ),
    case("Idiom.upsampling", {"x": normal(1, 4, 5, 3)}, lambda tf, x: tf.repeat(tf.repeat(x, 2, 1), 2, 2)),
    case(
        "Idiom.resize_antialias",
        {"x": normal(1, 12, 12, 3)},
        lambda tf, x: tf.image.resize(x, [5, 5], antialias=True),
    ),
]


def ramp(*shape):
    """Fixed values of both signs, without a generator: weights inside a builder."""
    count = int(np.prod(shape))
    return (
        (np.sin(np.arange(count) * 1.7 + 0.3) / np.sqrt(max(1, count // shape[-1])))
        .astype("float32")
        .reshape(shape)
    )


def layer_normalization(tf, x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * ramp(16) + ramp(16)


def dilated_by_blocks(tf, x):
    """How older exporters wrote a dilated convolution."""
    blocks = tf.raw_ops.SpaceToBatchND(input=x, block_shape=[2, 2], paddings=[[2, 2], [2, 2]])
    return tf.raw_ops.BatchToSpaceND(
        input=tf.nn.conv2d(blocks, ramp(3, 3, 4, 8), 1, "VALID"), block_shape=[2, 2], crops=[[0, 0], [0, 0]]
    )


CASES = [*CONVOLUTIONS, *DEPTHWISE, *TRANSPOSED, *POOLING, *NORMALIZATION, *RESIZING]
