"""Pictures of a camera through four stages: decoding, two halves of a network on devices of their own, and a label.

    python camera.py FOLDER [--frames N] [--devices cpu:0 cpu:1]

`read_camera` makes pictures up, compressed as a camera's are. For a real camera give OpenCV's frames instead
(`cv2.VideoCapture(0)`), and decode JPEG with what you have.
"""

import argparse
import pathlib
import time
import zlib
from collections.abc import Iterator

import intarsia
import numpy as np

HEIGHT, WIDTH = 480, 640
LABELS = [f"class {i}" for i in range(10)]


def read_camera(count: int) -> Iterator[dict[str, np.ndarray]]:
    """A bright square that moves; each picture is what the camera would send, a row of bytes."""
    for i in range(count):
        picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        left = 5 * i % (WIDTH - 64)
        picture[200:264, left : left + 64] = 50 + i % 200
        yield {"sent": np.frombuffer(zlib.compress(picture, 1), np.uint8)}


def decode(sent: np.ndarray) -> np.ndarray:
    """To the network's size and layout: 1x3x224x224, values 0 to 1."""
    picture = np.frombuffer(zlib.decompress(sent), np.uint8).reshape(HEIGHT, WIDTH, 3)
    rows = np.arange(224) * HEIGHT // 224
    columns = np.arange(224) * WIDTH // 224
    small = picture[rows[:, None], columns]
    return np.ascontiguousarray(small.transpose(2, 0, 1)[None], dtype=np.float32) / 255


def choose(scores: np.ndarray) -> np.ndarray:
    return np.array([LABELS[scores[0].argmax()]], dtype=object)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--devices", nargs=2, default=["cpu:0", "cpu:1"])
    arguments = parser.parse_args()

    builder = intarsia.PipelineBuilder().add("decode", decode, inputs=["sent"], outputs=["image"])
    for stage, device in zip(["backbone", "head"], arguments.devices):
        program = intarsia.load(arguments.folder / f"{stage}.so")
        builder.add(stage, program, devices={program.slots[0]: device}, threads=1)
    builder.add("choose", choose, inputs=["scores"], outputs=["label"])

    with builder.start(depth=2) as pipeline:
        begin = time.perf_counter()
        for frame in pipeline.run_all(read_camera(arguments.frames)):
            if frame.error is not None:
                print(f"frame {frame.number}: {frame.error}")
        seconds = time.perf_counter() - begin
        print(f"{arguments.frames / seconds:.1f} frames/s; the last picture is {frame.outputs['label'][0]}")
        for stage in pipeline.statistics:
            busy, waiting = stage.busy_ns / stage.frames / 1e6, stage.waiting_ns / stage.frames / 1e6
            print(f"{stage.name:10} {busy:7.3f} ms a frame, waits {waiting:7.3f} ms for the next")


if __name__ == "__main__":
    main()
