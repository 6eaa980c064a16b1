"""Models on a CUDA device beside PyTorch on the same device: times of a run, with copies of inputs and outputs, and of compiling.

    python bench/cuda_models.py [--device cuda:0] [--seconds S] [--document] [--results JSON] [MODEL ...]

Models are those of torchvision and BERT of transformers (128 tokens), batch 1, f32, with random weights. PyTorch runs each eagerly
and as a CUDA graph, which has no cost of Python, with TF32 off as in our code; and as a graph with TF32, which rounds the factors
of products to 10 bits. Our outputs are compared with PyTorch's. Needs torch, torchvision, transformers and onnx, which are not part
of build/venv. All numbers go to build/bench/cuda_models.json. With --document it writes the section "Models on CUDA" of
docs/performance.md; with --results from the numbers of an earlier run. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import time
import warnings

from measuring import BIN, OUT, json_of, processor, replace_section

TITLE = "## Models on CUDA"
DEFAULT = [
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "densenet121",
    "convnext_tiny",
    "vit_b_16",
    "bert_base",
]


def make_model(name: str):
    """The module and its input. Models of transformers get another form: inputs by position, one output."""
    import torch

    torch.manual_seed(0)
    if name != "bert_base":
        import torchvision

        module = getattr(torchvision.models, name)(weights=None).eval()
        if name.startswith("vit"):  # its last weights are zeros, and so its output
            torch.nn.init.normal_(module.heads.head.weight, std=0.02)
        return module, torch.randn(1, 3, 224, 224)
    from transformers import BertConfig, BertModel

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = BertModel(BertConfig(), add_pooling_layer=False)

        def forward(self, tokens):
            return self.model(input_ids=tokens).last_hidden_state

    return Bert().eval(), torch.randint(0, 30000, (1, 128))


def export(name: str, module, x) -> tuple[pathlib.Path, object]:
    """The module as an ONNX file beside its input, NAME.input.npy; returns also what the module computes."""
    import numpy as np
    import torch

    path = OUT / f"{name}.onnx"
    with torch.no_grad():
        want = module(x).numpy()
    np.save(OUT / f"{name}.input.npy", x.numpy())
    torch.onnx.export(
        module, (x,), path, opset_version=17, dynamo=False, input_names=["x"], output_names=["y"]
    )
    return path, want


def times_of(run, seconds: float) -> dict:
    """The least and the median time in ms of what returns when it is done."""
    times = []
    for _ in range(10):
        run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - begin))
    return {"min_ms": min(times), "median_ms": sorted(times)[len(times) // 2]}


def measure_torch(module, x, seconds: float) -> dict:
    import torch

    module, host, x = module.cuda(), x.pin_memory(), x.cuda()
    results = {}

    def eager():
        x.copy_(host, non_blocking=True)
        module(x).cpu()

    for kind, tf32 in (("f32", False), ("tf32", True)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        with torch.no_grad():
            results[f"eager_{kind}"] = times_of(eager, seconds)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    module(x)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = module(x)

        def replay(graph=graph, y=y):
            x.copy_(host, non_blocking=True)
            graph.replay()
            y.cpu()

        results[f"graph_{kind}"] = times_of(replay, seconds)
    return results


def measure_ours(name: str, model: pathlib.Path, want, arguments: argparse.Namespace) -> dict:
    import numpy as np

    program, folder = OUT / f"{name}.so", OUT / f"{name}_outputs"
    options = ["-d", arguments.device, "--pin", f"*=halide@{arguments.device}"]
    if arguments.cache:
        options += ["--cache", arguments.cache]
    begin = time.perf_counter()
    json_of(BIN / "intarsia", "compile", model, "-o", program, "--json", "-q", *options)
    compile_seconds = time.perf_counter() - begin
    call = ["run", program, "-i", OUT / f"{name}.input.npy", "-o", folder, "-q"]
    subprocess.run([str(word) for word in (BIN / "intarsia", *call)], check=True, stdout=subprocess.DEVNULL)
    difference = float(np.abs(np.load(folder / "y.npy") - want).max() / np.abs(want).max())
    result = json_of(BIN / "intarsia", "bench", program, "-t", arguments.seconds, "--json", "-q")["results"][
        0
    ]
    return {
        "ours": {key: result[key] for key in ("min_ms", "median_ms")},
        "compile_s": compile_seconds,
        "difference": difference,
    }


def document(measured: dict) -> list[str]:
    lines = [
        TITLE,
        "",
        f"On one {measured['card']} (host: {measured['host']}), f32, batch 1, random weights; inputs and outputs on the host, so every time",
        f"has both copies. Medians in ms. PyTorch {measured['torch']}: eager, as a CUDA graph, and as a graph with TF32, which rounds the factors",
        "of products to 10 bits and uses units that our code does not use; ratio = its graph in f32 / ours. *differs*: from PyTorch's output,",
        "relative to the largest (zeros: all outputs are). *compile*: with tuning on the device. Written by `bench/cuda_models.py`.",
        "",
        "| model | ours | eager | graph | ratio | graph, TF32 | differs | compile, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in measured["models"]:
        ours, graph = row["ours"]["median_ms"], row["graph_f32"]["median_ms"]
        differs = "zeros" if math.isnan(row["difference"]) else f"{row['difference']:.0e}"
        lines.append(
            f"| {row['model']} | {ours:.2f} | {row['eager_f32']['median_ms']:.2f} | {graph:.2f} | {graph / ours:.2f} | "
            f"{row['graph_tf32']['median_ms']:.2f} | {differs} | {row['compile_s']:.1f} |"
        )
    return [*lines, ""]


def measure(arguments: argparse.Namespace) -> dict:
    import torch

    warnings.simplefilter("ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    measured = {
        "card": torch.cuda.get_device_name(0),
        "host": processor(),
        "torch": torch.__version__,
        "models": [],
    }
    for name in arguments.models:
        module, x = make_model(name)
        model, want = export(name, module, x)
        row = {"model": name} | measure_ours(name, model, want, arguments)
        row |= measure_torch(module, x, arguments.seconds)
        measured["models"].append(row)
        print(json.dumps(row), flush=True)
        (OUT / "cuda_models.json").write_text(json.dumps(measured, indent=1))
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=DEFAULT)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=2, help="of each way to run a model")
    parser.add_argument(
        "--cache", help="folder of the compiler's times, to measure without those that it has"
    )
    parser.add_argument("--document", action="store_true")
    parser.add_argument(
        "--results", type=pathlib.Path, help="numbers of an earlier run, instead of measuring"
    )
    arguments = parser.parse_args()
    measured = json.loads(arguments.results.read_text()) if arguments.results else measure(arguments)
    if arguments.document:
        replace_section(TITLE, document(measured))


if __name__ == "__main__":
    main()
