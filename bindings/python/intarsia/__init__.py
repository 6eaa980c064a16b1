"""Intarsia: one trained model, cut into pieces, each run by the device and backend that run it best.

    import intarsia
    intarsia.compile("model.onnx", devices=["cpu"]).save("model.so")  # or its bytes, or an onnx.ModelProto
    scores = intarsia.load("model.so")(image=x)

Inputs are anything with `__dlpack__` or `__array__` (numpy, PyTorch, JAX, ...), used without a copy if they
are dense and on the CPU. Outputs are numpy arrays over the program's own memory; pass them on with
`__dlpack__`, also without a copy.
"""

from ._intarsia import version
from .benchmark import bench
from .compiler import (
    Compiled,
    annotate,
    backends,
    check,
    compile,
    devices,
    explain,
    explain_html,
    pass_names,
    rewrite,
    split,
)
from .costs import export_costs, import_costs, tune_pack
from .errors import (
    BusyError,
    CancelledError,
    CorruptError,
    DeviceLostError,
    DroppedError,
    Error,
    InternalError,
    InvalidArgumentError,
    IoError,
    NotFoundError,
    OutOfMemoryError,
    TimedOutError,
    UnsupportedError,
    VersionError,
)
from .frames import (
    Frame,
    FrameInputs,
    FrameStatistics,
    ReplicaStatistics,
    StageStatistics,
    TimeBucket,
    TimeHistogram,
)
from .functions import export_functions, export_generators
from .pipeline import Pipeline, PipelineBuilder
from .plain_c import emit_c
from .plugins import Plugin, load_plugin, plugins
from .program import Alternative, Argument, CopyCounts, Profile, ProfileEntry, Program, Session, load

__all__ = [
    "Alternative",
    "Argument",
    "BusyError",
    "CancelledError",
    "Compiled",
    "CopyCounts",
    "CorruptError",
    "DeviceLostError",
    "DroppedError",
    "Error",
    "Frame",
    "FrameInputs",
    "FrameStatistics",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "NotFoundError",
    "OutOfMemoryError",
    "Pipeline",
    "PipelineBuilder",
    "Plugin",
    "Profile",
    "ProfileEntry",
    "Program",
    "ReplicaStatistics",
    "Session",
    "StageStatistics",
    "TimeBucket",
    "TimeHistogram",
    "TimedOutError",
    "UnsupportedError",
    "VersionError",
    "annotate",
    "backends",
    "bench",
    "check",
    "compile",
    "devices",
    "emit_c",
    "explain",
    "explain_html",
    "export_costs",
    "export_functions",
    "export_generators",
    "import_costs",
    "load",
    "load_plugin",
    "pass_names",
    "plugins",
    "rewrite",
    "split",
    "tune_pack",
    "version",
]
__version__ = version()
