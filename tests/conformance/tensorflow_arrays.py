"""Cases of operators that move, select and arrange elements."""

import numpy as np
from tensorflow_operators import array, booleans, case, integers, normal, op, uniform, values_of


def ints(*values):
    return np.array(values, "int32")


SHAPES = [
    op("Reshape", {"tensor": normal(2, 3, 4)}, shape=ints(6, 4)),
    op("Reshape.rest", {"tensor": normal(2, 3, 4)}, shape=ints(2, -1)),
    op("Reshape.int64", {"tensor": normal(2, 3, 4)}, shape=np.array([4, 6])),
    op("Reshape.scalar", {"tensor": normal(1, 1)}, shape=np.zeros(0, "int32")),
    op("Reshape.empty", {"tensor": np.zeros((0, 3), "float32")}, shape=ints(3, 0)),
    case(
        "Reshape.open", {"x": normal(2, 3, 4)}, lambda tf, x: tf.reshape(x, [tf.shape(x)[0], -1]), open=("x",)
    ),
    case(
        "Reshape.computed",
        {"x": normal(2, 3, 4)},
        lambda tf, x: tf.reshape(x, tf.concat([tf.shape(x)[:1], [12]], 0)),
        open=("x",),
    ),
    case(
        "Reshape.heads",
        {"x": normal(2, 5, 12)},
        lambda tf, x: tf.transpose(tf.reshape(x, [-1, tf.shape(x)[1], 3, 4]), [0, 2, 1, 3]),
        open=("x",),
    ),
    op("Reshape.fed_shape", {"tensor": normal(2, 6), "shape": ints(3, 4)}),
    *(
        op(
            f"Transpose.{'_'.join(map(str, perm))}",
            {"x": normal(*(2, 3, 4, 5)[: len(perm)])},
            perm=ints(*perm),
        )
        for perm in ((1, 0), (0, 2, 1), (2, 0, 1), (0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0))
    ),
    op("Transpose.int32", {"x": integers(0, 9, 3, 4)}, perm=ints(1, 0)),
    op("Transpose.string", {"x": np.array([[b"a", b"b"], [b"c", b""]])}, perm=ints(1, 0)),
    *(
        op(f"ExpandDims.{axis}".replace("-", "m"), {"input": normal(2, 3)}, axis=np.int32(axis))
        for axis in (0, 1, 2, -1, -3)
    ),
    op("Squeeze", {"input": normal(1, 3, 1, 2)}),
    op("Squeeze.one", {"input": normal(1, 3, 1, 2)}, axis=[2]),
    op("Squeeze.negative", {"input": normal(1, 3, 1, 2)}, axis=[-2, 0]),
    case("Squeeze.open", {"x": normal(2, 1, 3)}, lambda tf, x: tf.squeeze(x, [1]) + 1, open=("x",)),
    op("Shape", {"input": normal(2, 3, 4)}),
    op("Shape.int64", {"input": normal(2, 3, 4)}, out_type="int64"),
    case("ShapeN", {"x": normal(2, 3), "y": normal(4)}, lambda tf, x, y: tf.raw_ops.ShapeN(input=[x, y])),
    op("Size", {"input": normal(2, 3, 4)}),
    op("Size.int64", {"input": normal(2, 3, 4)}, out_type="int64"),
    op("Rank", {"input": normal(2, 3, 4)}),
    case("Shape.open", {"x": normal(2, 3)}, lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)], open=("x",)),
    op("BroadcastTo", {"input": normal(3, 1)}, shape=ints(2, 3, 4)),
    op("BroadcastTo.int64", {"input": integers(0, 9, 4)}, shape=np.array([3, 4])),
    case(
        "BroadcastArgs.constant",
        {"x": normal(3, 1)},
        lambda tf, x: tf.broadcast_to(x, tf.raw_ops.BroadcastArgs(s0=[3, 1], s1=[2, 1, 4])),
    ),
    op("BroadcastArgs", {"s0": ints(2, 1, 4), "s1": ints(3, 1)}),
    op("Fill", {"value": array(2.5)}, dims=ints(2, 3)),
    op("Fill.dims", {"dims": ints(2, 3)}, value=np.int64(7)),
    op("Fill.scalar", {"value": array(3, "int32")}, dims=np.zeros(0, "int32")),
    op("Range", {}, start=np.int32(2), limit=np.int32(11), delta=np.int32(3)),
    op("Range.fed", {"limit": array(7, "int32")}, start=np.int32(0), delta=np.int32(2)),
    op("Range.down", {"start": array(5, "int64")}, limit=np.int64(-3), delta=np.int64(-2)),
    op("Range.float32", {"limit": array(1.0)}, start=np.float32(0), delta=np.float32(0.25)),
    op("LinSpace", {"start": array(0), "stop": array(1)}, num=np.int32(5)),
    case(
        "Range.positions",
        {"x": normal(2, 5, 3)},
        lambda tf, x: x + tf.cast(tf.range(tf.shape(x)[1]), tf.float32)[:, None],
        open=("x",),
    ),
    op("InvertPermutation", {"x": ints(2, 0, 3, 1)}),
    op("ConcatOffset", {}, concat_dim=np.int32(0), shape=[ints(2, 3), ints(4, 3)]),
]


def joined(name, operator, shapes, dtype="float32", **arguments):
    """An operator on a list of tensors."""
    key = {"ConcatV2": "values", "Concat": "values", "Pack": "values", "ParallelConcat": "values"}[operator]
    return case(
        name,
        {f"x{i}": values_of(dtype, *shape) for i, shape in enumerate(shapes)},
        lambda tf, **tensors: getattr(tf.raw_ops, operator)(**{key: list(tensors.values())}, **arguments),
    )


JOINING = [
    joined("ConcatV2.axis0", "ConcatV2", [(2, 3), (4, 3)], axis=0),
    joined("ConcatV2.last", "ConcatV2", [(2, 3, 4), (2, 3, 1), (2, 3, 2)], axis=-1),
    joined("ConcatV2.middle", "ConcatV2", [(2, 1, 4), (2, 5, 4)], axis=1),
    joined("ConcatV2.int64", "ConcatV2", [(3,), (2,)], "int64", axis=0),
    joined("ConcatV2.empty", "ConcatV2", [(2, 0), (2, 3)], axis=1),
    joined("ConcatV2.bool", "ConcatV2", [(2,), (3,)], "bool", axis=0),
    joined("ConcatV2.many", "ConcatV2", [(2, i) for i in range(1, 9)], axis=1),
    joined("Concat", "Concat", [(2, 3), (2, 2)], concat_dim=1),
    joined("ParallelConcat", "ParallelConcat", [(1, 3), (1, 3)], shape=[2, 3]),
    joined("Pack.axis0", "Pack", [(2, 3)] * 3),
    joined("Pack.axis1", "Pack", [(2, 3)] * 2, axis=1),
    joined("Pack.last", "Pack", [(2, 3)] * 4, axis=-1),
    joined("Pack.scalars", "Pack", [()] * 3, "int32"),
    op("Unpack", {"value": normal(3, 4)}, num=3),
    op("Unpack.axis1", {"value": normal(3, 4)}, num=4, axis=1),
    op("Unpack.last", {"value": normal(2, 3, 2)}, num=2, axis=-1),
    op("Split", {"value": normal(4, 6)}, axis=np.int32(1), num_split=3),
    op("Split.first", {"value": normal(4, 6)}, axis=np.int32(0), num_split=2),
    op("Split.negative", {"value": normal(4, 6)}, axis=np.int32(-1), num_split=2),
    op("SplitV", {"value": normal(4, 7)}, size_splits=ints(2, 1, 4), axis=np.int32(1), num_split=3),
    op("SplitV.rest", {"value": normal(4, 7)}, size_splits=ints(2, -1), axis=np.int32(1), num_split=2),
    op("Tile", {"input": normal(2, 3)}, multiples=ints(2, 3)),
    op("Tile.once", {"input": normal(2, 3)}, multiples=ints(1, 1)),
    op("Tile.int64", {"input": integers(0, 9, 2, 1, 3)}, multiples=np.array([1, 4, 2])),
    case(
        "Tile.open",
        {"x": normal(2, 3), "y": normal(1, 4)},
        lambda tf, x, y: tf.concat([x, tf.tile(y, [tf.shape(x)[0], 1])], 1),
        open=("x",),
    ),
]

# x[...] as Python writes it: StridedSlice with every mask.
SLICES = {
    "begin": "x[1:]",
    "end": "x[:2]",
    "inner": "x[1:3, 2:4]",
    "last_row": "x[-1]",
    "steps": "x[::2, 1::3]",
    "reversed": "x[::-1]",
    "reversed_columns": "x[:, ::-2]",
    "back_from": "x[2:0:-1, -2::-1]",
    "new_axis": "x[:, None]",
    "new_last_axis": "x[..., None]",
    "ellipsis": "x[..., 1:]",
    "ellipsis_first": "x[1, ..., 2]",
    "shrink_all": "x[1, 2, 3]",
    "mixed": "x[None, 1:, ..., -1]",
    "beyond": "x[1:100, -100:2]",
    "empty": "x[3:1]",
    "column": "x[:, 2:3]",
    "one": "x[:, 2]",
    "negative_range": "x[:, -3:-1]",
    "two_new": "x[None, :, None, 0]",
    "whole": "x[:]",
}
SLICING = [
    *(
        case(f"StridedSlice.{name}", {"x": normal(4, 5, 6)}, lambda tf, x, text=text: eval(text))
        for name, text in SLICES.items()
    ),
    case(
        "StridedSlice.fed",
        {"x": normal(6, 4), "i": ints(1, 0), "j": ints(5, 3)},
        lambda tf, x, i, j: tf.strided_slice(x, i, j, [2, 1]),
    ),
    case("StridedSlice.int64", {"x": integers(0, 99, 6, dtype="int64")}, lambda tf, x: x[1:5:2]),
    case("StridedSlice.by_shape", {"x": normal(5, 4)}, lambda tf, x: x[: tf.shape(x)[0] // 2], open=("x",)),
    case(
        "StridedSlice.as_long",
        {"x": normal(2, 5, 3)},
        lambda tf, x: x + tf.reshape(tf.range(24.0), [8, 3])[: tf.shape(x)[1]],
        open=("x",),
    ),
    case("StridedSlice.last", {"x": normal(5, 4)}, lambda tf, x: x[tf.shape(x)[0] - 2 :, 1:], open=("x",)),
    case(
        "StridedSlice.but_last", {"x": normal(5, 4)}, lambda tf, x: x[: tf.shape(x)[0] - 1, ::-1], open=("x",)
    ),
    case("StridedSlice.string", {"x": np.array([b"a", b"bc", b"d"])}, lambda tf, x: x[1:]),
    op("Slice", {"input": normal(4, 5, 6)}, begin=ints(1, 0, 2), size=ints(2, 5, 3)),
    op("Slice.rest", {"input": normal(4, 5)}, begin=ints(1, 2), size=ints(-1, -1)),
    op("Slice.empty", {"input": normal(4, 5)}, begin=ints(1, 2), size=ints(0, 2)),
    case(
        "Slice.by_shape",
        {"x": normal(5, 4)},
        lambda tf, x: tf.slice(x, [1, 2], [tf.shape(x)[0] - 1, 2]),
        open=("x",),
    ),
    op("Slice.fed", {"input": normal(4, 5), "begin": ints(1, 2)}, size=ints(2, 2)),
    op("Slice.int64", {"input": integers(0, 9, 4, 5)}, begin=np.array([1, 2]), size=np.array([2, -1])),
    op("ReverseV2", {"tensor": normal(3, 4, 2)}, axis=ints(1)),
    op("ReverseV2.two", {"tensor": normal(3, 4, 2)}, axis=ints(0, -1)),
    op("ReverseV2.none", {"tensor": normal(3, 4)}, axis=np.zeros(0, "int32")),
    op("ReverseSequence", {"input": normal(3, 5, 2), "seq_lengths": ints(2, 5, 1)}, seq_dim=1, batch_dim=0),
    op(
        "ReverseSequence.time_first",
        {"input": normal(5, 3), "seq_lengths": np.array([2, 5, 0])},
        seq_dim=0,
        batch_dim=1,
    ),
    op("Roll", {"input": normal(3, 5)}, shift=ints(2, -1), axis=ints(1, 0)),
]

PADDING = [
    op("Pad", {"input": normal(2, 3)}, paddings=ints((1, 2), (0, 3))),
    op("Pad.none", {"input": normal(2, 3)}, paddings=ints((0, 0), (0, 0))),
    op("Pad.int64", {"input": integers(0, 9, 2, 3)}, paddings=np.array([[1, 0], [0, 1]])),
    op("Pad.fed", {"input": normal(2, 3), "paddings": ints((1, 2), (0, 3))}),
    op(
        "PadV2",
        {"input": normal(1, 4, 4, 2)},
        paddings=ints((0, 0), (1, 2), (2, 1), (0, 0)),
        constant_values=np.float32(-7),
    ),
    op("PadV2.int32", {"input": integers(0, 9, 3)}, paddings=ints((2, 1)), constant_values=np.int32(-1)),
    op(
        "PadV2.lowest",
        {"input": normal(1, 4, 4, 2)},
        paddings=ints((0, 0), (1, 1), (1, 1), (0, 0)),
        constant_values=np.float32(-np.inf),
    ),
    *(
        op(
            f"MirrorPad.{mode.lower()}",
            {"input": normal(3, 4, 2)},
            paddings=ints((1, 2), (2, 1), (0, 0)),
            mode=mode,
        )
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    op("MirrorPad.all", {"input": normal(3, 4)}, paddings=ints((3, 3), (4, 4)), mode="SYMMETRIC"),
]

GATHERING = [
    op("Gather", {"params": normal(6, 3), "indices": ints(5, 0, 2)}),
    op("GatherV2.axis0", {"params": normal(6, 3), "indices": integers(0, 6, 2, 4)}, axis=np.int32(0)),
    op("GatherV2.axis1", {"params": normal(4, 6, 3), "indices": ints(5, 0, 2)}, axis=np.int32(1)),
    op("GatherV2.last", {"params": normal(4, 6), "indices": np.array([1, 1, 5])}, axis=np.int32(-1)),
    op("GatherV2.scalar", {"params": normal(6, 3), "indices": array(4, "int32")}, axis=np.int32(0)),
    op(
        "GatherV2.batch",
        {"params": normal(2, 6, 3), "indices": integers(0, 6, 2, 4)},
        axis=np.int32(1),
        batch_dims=1,
    ),
    op(
        "GatherV2.batch_rows",
        {"params": normal(2, 6), "indices": integers(0, 6, 2, 4)},
        axis=np.int32(1),
        batch_dims=1,
    ),
    op(
        "GatherV2.batch_later_axis",
        {"params": normal(2, 3, 6), "indices": integers(0, 6, 2, 4)},
        axis=np.int32(2),
        batch_dims=1,
    ),
    op("GatherV2.table", {"indices": integers(0, 50, 3, 7)}, params=normal(50, 8), axis=np.int32(0)),
    op("GatherV2.int32", {"params": integers(0, 99, 9), "indices": ints(8, 8, 0)}, axis=np.int32(0)),
    op("GatherV2.string", {"params": np.array([b"a", b"bc", b"d"]), "indices": ints(2, 0)}, axis=np.int32(0)),
    op("GatherNd", {"params": normal(3, 4, 2), "indices": ints((0, 1), (2, 3))}),
    op("GatherNd.whole", {"params": normal(3, 4), "indices": ints((2, 3), (0, 0))}),
    op("GatherNd.rows", {"params": normal(3, 4), "indices": ints((2,), (0,))}),
    op("GatherNd.rank3", {"params": normal(3, 4), "indices": integers(0, 3, 2, 2, 2)}),
    case(
        "GatherNd.batch",
        {"x": normal(2, 3, 4), "i": integers(0, 3, 2, 5, 1)},
        lambda tf, x, i: tf.gather_nd(x, i, batch_dims=1),
    ),
    case(
        "EmbeddingLookup",
        {"ids": integers(0, 20, 3, 5, dtype="int64")},
        lambda tf, ids: tf.nn.embedding_lookup(np.arange(80, dtype="float32").reshape(20, 4), ids),
    ),
    op("ScatterNd", {"indices": ints((1,), (3,)), "updates": normal(2, 4)}, shape=ints(5, 4)),
    op("ScatterNd.adds", {"indices": ints((1,), (1,), (0,)), "updates": normal(3)}, shape=ints(4)),
    op(
        "ScatterNd.cells",
        {"indices": np.array([[0, 1], [2, 2]]), "updates": integers(1, 9, 2)},
        shape=np.array([3, 3]),
    ),
    *(
        op(
            f"TensorScatter{what}",
            {"tensor": normal(5, 3), "indices": ints((1,), (4,)), "updates": normal(2, 3)},
        )
        for what in ("Update", "Add", "Sub", "Max", "Min")
    ),
    op(
        "TensorScatterUpdate.cells",
        {"tensor": normal(3, 3), "indices": ints((0, 1), (2, 2)), "updates": normal(2)},
    ),
    op("TensorScatterAdd.twice", {"tensor": normal(5), "indices": ints((1,), (1,)), "updates": normal(2)}),
    op(
        "OneHot",
        {"indices": ints(2, 0, 4)},
        depth=np.int32(5),
        on_value=np.float32(1),
        off_value=np.float32(0),
    ),
    op(
        "OneHot.axis0",
        {"indices": ints(2, 0, 4)},
        depth=np.int32(5),
        on_value=np.float32(3),
        off_value=np.float32(-1),
        axis=0,
    ),
    op(
        "OneHot.outside",
        {"indices": ints(-1, 7, 1)},
        depth=np.int32(5),
        on_value=np.int64(1),
        off_value=np.int64(0),
    ),
    op(
        "OneHot.rank2",
        {"indices": integers(0, 4, 2, 3, dtype="int64")},
        depth=np.int32(4),
        on_value=np.float32(1),
        off_value=np.float32(0),
        axis=1,
    ),
    op(
        "OneHot.bool",
        {"indices": integers(0, 4, 3)},
        depth=np.int32(4),
        on_value=np.bool_(True),
        off_value=np.bool_(False),
    ),
]

BLOCKS = [
    op(
        "SpaceToBatchND", {"input": normal(1, 4, 6, 3)}, block_shape=ints(2, 3), paddings=ints((0, 0), (0, 0))
    ),
    op(
        "SpaceToBatchND.padded",
        {"input": normal(1, 5, 4, 3)},
        block_shape=ints(2, 2),
        paddings=ints((0, 1), (1, 1)),
    ),
    op("SpaceToBatchND.1d", {"input": normal(2, 6, 3)}, block_shape=ints(2), paddings=ints((2, 0))),
    op("BatchToSpaceND", {"input": normal(6, 2, 2, 3)}, block_shape=ints(2, 3), crops=ints((0, 0), (0, 0))),
    op(
        "BatchToSpaceND.cropped",
        {"input": normal(4, 3, 3, 2)},
        block_shape=ints(2, 2),
        crops=ints((1, 0), (0, 2)),
    ),
    op("SpaceToBatch", {"input": normal(1, 4, 4, 2)}, paddings=ints((0, 0), (0, 0)), block_size=2),
    op("BatchToSpace", {"input": normal(4, 2, 2, 2)}, crops=ints((0, 0), (0, 0)), block_size=2),
    op("SpaceToDepth", {"input": normal(1, 4, 6, 3)}, block_size=2),
    op("SpaceToDepth.3", {"input": normal(2, 6, 3, 2)}, block_size=3),
    op("DepthToSpace", {"input": normal(1, 2, 3, 12)}, block_size=2),
    op("DepthToSpace.3", {"input": normal(1, 2, 2, 18)}, block_size=3),
    op(
        "ExtractImagePatches",
        {"images": normal(1, 6, 6, 2)},
        ksizes=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        rates=[1, 1, 1, 1],
        padding="VALID",
    ),
]

MATRICES = [
    *(
        op(
            f"MatrixBandPart.{what}",
            {"input": normal(2, 4, 5)},
            num_lower=np.int64(lower),
            num_upper=np.int64(upper),
        )
        for what, lower, upper in (
            ("lower", -1, 0),
            ("upper", 0, -1),
            ("band", 1, 2),
            ("all", -1, -1),
            ("diagonal", 0, 0),
        )
    ),
    op("MatrixDiag", {"diagonal": normal(2, 3)}),
    op("MatrixDiagPart", {"input": normal(2, 3, 4)}),
    case("MatrixDiagV3.main", {"x": normal(2, 3)}, lambda tf, x: tf.linalg.diag(x)),
    case("MatrixDiagV3.open", {"x": normal(2, 3)}, lambda tf, x: tf.linalg.diag(x), open=("x",)),
    case("MatrixDiagPartV3.square", {"x": normal(2, 4, 4)}, lambda tf, x: tf.linalg.diag_part(x)),
    case(
        "MatrixSetDiagV3",
        {"x": normal(2, 4, 4), "d": normal(2, 4)},
        lambda tf, x, d: tf.linalg.set_diag(x, d),
    ),
    op("MatrixSetDiag", {"input": normal(2, 3, 3), "diagonal": normal(2, 3)}),
    case("MatrixDiagV3", {"x": normal(2, 3)}, lambda tf, x: tf.linalg.diag(x, k=1)),
    case("MatrixDiagPartV3", {"x": normal(3, 4)}, lambda tf, x: tf.linalg.diag_part(x)),
    op("Diag", {"diagonal": normal(4)}),
    case(
        "Idiom.causal_mask",
        {"x": normal(2, 5, 5)},
        lambda tf, x: tf.where(tf.linalg.band_part(tf.ones([5, 5], tf.bool), -1, 0), x, -9.0),
    ),
    case("Idiom.trace", {"x": normal(2, 4, 4)}, lambda tf, x: tf.linalg.trace(x)),
    case("Idiom.eye", {"x": normal(3, 3)}, lambda tf, x: x + tf.eye(tf.shape(x)[0]), open=("x",)),
]

# The sizes of the outputs depend on the data.
DATA_DEPENDENT = [
    op("Where", {"condition": booleans(3, 5)}),
    op("Where.float32", {"condition": array([[0, 1.5], [0, -2], [0, 0]])}),
    op("Where.nothing", {"condition": np.zeros(4, bool)}),
    op("Where.rank_3", {"condition": integers(0, 2, 3, 4, 5)}),
    op("Where.special", {"condition": array([np.nan, 0, -0.0, np.inf])}),
    case("Where.read", {"x": normal(4, 5)}, lambda tf, x: tf.gather_nd(x * 2, tf.where(x > 0)) + 1),
    op("Unique", {"x": integers(0, 6, 15)}),
    op("Unique.nan", {"x": array([np.nan, 1, np.nan, -0.0, 0])}),
    case(
        "Unique.read",
        {"x": integers(0, 6, 15)},
        lambda tf, x: tf.gather(*tf.unique(x)) + tf.size(tf.unique(x)[0]),
    ),
    op("Unique.int64_index", {"x": integers(0, 6, 15, dtype="int64")}, out_idx="int64"),
    op("Unique.float32", {"x": array([1.5, -2, 1.5, 0, -2])}),
    op("UniqueWithCounts", {"x": integers(0, 6, 15)}),
    op("UniqueWithCounts.int64_index", {"x": integers(0, 6, 15)}, out_idx="int64"),
    op("UniqueV2", {"x": integers(0, 2, 8, 2)}, axis=np.int32([0])),
    op("UniqueV2.flat", {"x": array([1.5, -2, 1.5, 0, -2])}, axis=np.zeros(0, "int64")),
    op("UniqueWithCountsV2", {"x": integers(0, 2, 2, 8)}, axis=np.int64([-1])),
    case(
        "BooleanMask",
        {"x": normal(6, 4), "m": booleans(6)},
        lambda tf, x, m: tf.exp(tf.boolean_mask(x, m)) + 1,
    ),
    op("ListDiff", {"x": ints(1, 2, 3, 4, 5), "y": ints(2, 4)}),
    op("Fill.from_data", {"dims": ints(3)}, value=np.float32(2)),
    op("Range.from_data", {"limit": array(4, "int32")}, start=np.int32(0), delta=np.int32(1)),
    op(
        "NonMaxSuppressionV3",
        {"boxes": uniform(0, 1, 12, 4), "scores": uniform(0, 1, 12)},
        max_output_size=np.int32(5),
        iou_threshold=np.float32(0.5),
        score_threshold=np.float32(0.1),
    ),
    op(
        "NonMaxSuppression",
        {"boxes": uniform(0, 1, 40, 4), "scores": uniform(-1, 1, 40)},
        max_output_size=np.int32(100),
        iou_threshold=0.2,
    ),
    op(
        "NonMaxSuppressionV2",
        {"boxes": uniform(0, 1, 40, 4), "scores": uniform(0, 1, 40)},
        max_output_size=np.int32(100),
        iou_threshold=np.float32(0.2),
    ),
    op(  # the boxes share 7 of 10, which is more than the limit in f64 alone
        "NonMaxSuppressionV3.rounded",
        {"boxes": array([[0, 0, 1, 10], [0, 0, 1, 7], [0, 0, 0, 0]]), "scores": array([1, 0.9, 0.5])},
        max_output_size=np.int32(5),
        iou_threshold=np.float32(0.7),
        score_threshold=np.float32(-np.inf),
    ),
    op(
        "NonMaxSuppressionV3.special",
        {"boxes": uniform(0, 1, 6, 4), "scores": array([np.nan, 0.5, 0.5, -np.inf, np.inf, 0.1])},
        max_output_size=np.int32(4),
        iou_threshold=np.float32(1),
        score_threshold=np.float32(0.1),
    ),
    op(
        "NonMaxSuppressionV4",
        {"boxes": uniform(0, 1, 12, 4), "scores": uniform(0, 1, 12)},
        max_output_size=np.int32(5),
        iou_threshold=np.float32(0.5),
        score_threshold=np.float32(0.1),
        pad_to_max_output_size=True,
    ),
    op(
        "NonMaxSuppressionV4.counted",
        {"boxes": uniform(0, 1, 12, 4), "scores": uniform(0, 1, 12)},
        max_output_size=np.int32(5),
        iou_threshold=np.float32(0.5),
        score_threshold=np.float32(0.1),
    ),
    *(
        op(
            f"NonMaxSuppressionV5{name}",
            {"boxes": uniform(0, 1, 40, 4), "scores": uniform(-0.2, 1, 40)},
            max_output_size=np.int32(30),
            iou_threshold=np.float32(0.4),
            score_threshold=np.float32(score),
            soft_nms_sigma=np.float32(sigma),
            pad_to_max_output_size=padded,
        )
        for name, score, sigma, padded in (
            ("", 0.1, 0.5, False),
            (".padded", 0.3, 0.1, True),
            (".hard", 0.1, 0, True),
            (".negative_scores", -1, 0.5, False),
        )
    ),
    case(
        "DynamicPartition",
        {"x": normal(6, 2), "p": ints(0, 1, 1, 0, 2, 1)},
        lambda tf, x, p: tf.dynamic_partition(x, p, 3),
    ),
    case(
        "DynamicStitch",
        {"x": normal(2, 3), "y": normal(2, 3)},
        lambda tf, x, y: tf.dynamic_stitch([[0, 3], [2, 1]], [x, y]),
    ),
]

CASES = [*SHAPES, *JOINING, *SLICING, *PADDING, *GATHERING, *BLOCKS, *MATRICES, *DATA_DEPENDENT]
