#!/usr/bin/env python3
"""Writes the real-size test models: Keras image classifiers, ViT-B/16 and a BERT-base encoder, as ONNX.

    build/venv/bin/python scripts/make_models.py [FOLDER] [--only NAME ...]

Nothing is downloaded: weights are random, from a fixed seed. A freshly initialized network forgets its input on the way
(MobileNetV2 answers 0.001 everywhere), and then any compiler looks right. So every normalization gets the statistics of
random data sent through the network, and a model is only written when different random inputs give clearly different
outputs and ONNX Runtime agrees with Keras.

Next to NAME.onnx is NAME.json: how the model was made, its digest, how far ONNX Runtime is from Keras, and its
operators. A model whose file still matches is not made again.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import sys
import time

import numpy as np

import transformer_models as transformers

SEED = 20
TOLERANCE = 1e-3  # of the largest output: how far two correct runtimes may be apart
MIN_DIFFERENCE = 100 * TOLERANCE  # of the largest output: how far the outputs of two inputs must be apart ...
MIN_SHARE = 0.5  # ... in at least this share of the outputs
OPSET = 17

# Name of the file -> (name in keras.applications, height and width of its images, further arguments).
CLASSIFIERS = {
    "resnet50": ("ResNet50", 224, {}),
    "mobilenetv2": ("MobileNetV2", 224, {}),
    "inceptionv3": ("InceptionV3", 299, {}),
    "efficientnetb0": ("EfficientNetB0", 224, {}),
    "densenet121": ("DenseNet121", 224, {}),
    "mobilenetv3_large": ("MobileNetV3Large", 224, {"include_preprocessing": False}),
    "convnext_tiny": ("ConvNeXtTiny", 224, {"include_preprocessing": False}),
}
MODEL_NAMES = [*CLASSIFIERS, "vit_b16", "bert_base"]


# Random inputs. `..._samples` returns one batch per kind of random data that a user may send; a batch is a list with one
# array per input of the model.


def image_samples(size, count, seed):
    """Batches of uniform [0, 1) and of standard normal images, float32[count, size, size, 3]."""
    random = np.random.default_rng(seed)
    shape = (count, size, size, 3)
    return [[random.random(shape, np.float32)], [random.standard_normal(shape, np.float32)]]


def token_samples(count, seed):
    """Batches of token ids and attention mask, int32[count, tokens] both: ids over the whole vocabulary and ids of only
    0 and 1, each with everything attended and with a random mask."""
    random = np.random.default_rng(seed)

    def integers(end):
        return random.integers(0, end, (count, transformers.BERT_TOKENS), np.int32)

    everything = np.ones((count, transformers.BERT_TOKENS), np.int32)
    return [
        [integers(end), mask]
        for end in (2, transformers.BERT_VOCABULARY)
        for mask in (everything, integers(2))
    ]


def samples(name, count, seed):
    """The samples for the model of this name."""
    if name == "bert_base":
        return token_samples(count, seed)
    return image_samples(transformers.VIT_IMAGE if name == "vit_b16" else CLASSIFIERS[name][1], count, seed)


def join(batches):
    """All batches as one."""
    return [np.concatenate(arrays) for arrays in zip(*batches)]


# The models, and how they get weights under which the output depends on the input.


def build_model(name):
    """The model with seeded random weights, output logits, and calibrated normalizations."""
    if name == "bert_base":
        model = transformers.build_bert()
    else:
        model = transformers.build_vit() if name == "vit_b16" else build_classifier(name)
    randomize(model)
    batches = samples(name, 4 if name == "bert_base" else 6, SEED)
    calibrate(model, join(batches))
    if name != "bert_base":
        calibrate_head(model, batches)
    return model


def build_classifier(name):
    """The keras.applications model, in layers that TensorFlow runs on the CPU and tf2onnx knows."""
    import keras

    application, size, arguments = CLASSIFIERS[name]
    image = keras.Input((size, size, 3), name="image")
    make = getattr(keras.applications, application)
    model = make(weights=None, classifier_activation=None, input_tensor=image, **arguments)
    return keras.models.clone_model(model, clone_function=plain_layer)


def plain_layer(layer):
    """A copy of the layer: a grouped convolution with a group per channel as a depthwise one, GELU written out."""
    import keras

    config = layer.get_config()
    if isinstance(layer, keras.layers.Conv2D) and layer.groups == layer.filters > 1:
        kept = ("name", "kernel_size", "strides", "padding", "use_bias")
        return keras.layers.DepthwiseConv2D(**{key: config[key] for key in kept})
    copy = type(layer).from_config(config)
    if getattr(layer, "activation", None) is keras.activations.gelu:
        copy.activation = transformers.gelu
    return copy


def randomize(model):
    """Gives biases and normalizations, which Keras starts at 0 and 1, values that no compiler can ignore unnoticed.

    Offsets around +1 keep most of what reaches a ReLU positive: a random network whose ReLUs zero half of everything is
    chaotic, and grows rounding errors a hundredfold.
    """
    import keras

    random = np.random.default_rng(SEED)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            gamma, beta = (0.5, 2), (0.5, 2)
        elif isinstance(layer, keras.layers.LayerNormalization):
            gamma, beta = (0.8, 1.25), (-0.2, 0.2)
        elif (
            type(layer).__name__ == "LayerScale"
        ):  # of ConvNeXt; Keras starts with 1e-6, which is practically 0
            layer.gamma.assign(random.uniform(0.5, 1, layer.gamma.shape))
            continue
        else:
            if getattr(layer, "bias", None) is not None:
                layer.bias.assign(random.normal(0, 0.1, layer.bias.shape))
            continue
        if layer.gamma is not None:
            layer.gamma.assign(random.uniform(*gamma, layer.gamma.shape))
        layer.beta.assign(random.uniform(*beta, layer.beta.shape))


def calibrate(model, inputs):
    """Sets the statistics of every normalization to those of `inputs`, by one pass in training mode.

    In that mode a layer normalizes by the statistics of what it sees, so the layers after it see the data that they
    will see later; momentum 0 makes it keep exactly these statistics.
    """
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
        elif isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
        elif isinstance(layer, keras.layers.Normalization):
            layer.adapt(keras.Model(model.inputs, layer.input).predict_on_batch(inputs))
    model(inputs, training=True)


def calibrate_head(model, batches):
    """Changes the last layer with weights so that the logits have mean 0 and variance 1 over `batches`.

    Global pooling averages random images to nearly equal features: most of a logit is the same for all of them. That
    part is removed, for every kind of image: the kernel ignores what distinguishes the kinds, the bias takes the
    rest.
    """
    import keras

    head = [layer for layer in model.layers if layer.weights][-1]  # dense, or a 1x1 convolution
    pooled = keras.Model(model.inputs, head.input)
    features = [pooled.predict_on_batch(batch).reshape(len(batch[0]), -1) for batch in batches]
    means = np.stack([kind.mean(0) for kind in features])
    between_kinds, _ = np.linalg.qr((means[1:] - means[0]).T)
    kernel = head.kernel.numpy().reshape(features[0].shape[1], -1)
    kernel = kernel - between_kinds @ (between_kinds.T @ kernel)
    logits = np.concatenate(features) @ kernel
    scale = 1 / logits.std(0).mean()
    head.kernel.assign((kernel * scale).reshape(head.kernel.shape))
    head.bias.assign(-logits.mean(0) * scale)


# Checking and writing.


def differing_share(outputs):
    """The share of outputs that differ clearly between the first two samples."""
    return float(np.mean(np.abs(outputs[0] - outputs[1]) > MIN_DIFFERENCE * np.abs(outputs).max()))


def check_model(name, model, path):
    """Runs ONNX Runtime on the file and Keras on `model` over fresh inputs, two of each kind.

    Returns (largest difference relative to the largest output, smallest share of outputs that depend on the input).
    Raises RuntimeError when either is not good enough.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    error, share = 0.0, 1.0
    for batch in samples(name, 2, SEED + 1):
        want = model.predict_on_batch(batch)
        (got,) = session.run(None, dict(zip(names, batch)))
        if got.shape != want.shape or not np.isfinite(got).all():
            raise RuntimeError(
                f"{name}: ONNX Runtime gives {got.shape}, Keras {want.shape}, or not all are finite"
            )
        error = max(error, float(np.abs(got - want).max() / np.abs(want).max()))
        share = min(share, differing_share(want))
    if error > TOLERANCE:
        raise RuntimeError(f"{name}: ONNX Runtime differs from Keras by {error:.1e} of the largest output")
    if share < MIN_SHARE:
        raise RuntimeError(
            f"{name}: only {share:.0%} of the outputs depend on the input, want {MIN_SHARE:.0%}"
        )
    return error, share


def with_fresh_messages(node_class):
    """After each of its optimizers tf2onnx writes all nodes, with all weights, to the same protobuf messages again. A
    message keeps the memory of what is deleted from it until it goes away itself: 22 GB for bert_base instead of 13."""
    import onnx

    update = node_class.update_proto

    def update_fresh(node, *arguments):
        old = node._op
        node._op = onnx.NodeProto(name=old.name, op_type=old.op_type, domain=old.domain or None)
        node._op.input.extend(old.input)
        node._op.output.extend(old.output)
        update(node, *arguments)

    node_class.update_proto = update_fresh


def write_model(name, folder):
    """Builds, exports and checks one model, in a separate process. Returns what NAME.json says."""
    log = folder / f"{name}.log"
    with open(log, "wb") as file:  # TensorFlow and tf2onnx print a lot on stderr
        os.dup2(file.fileno(), sys.stderr.fileno())
    # tf2onnx copies the graph with all weights before each of its optimizers, in order to go on after one that fails. The
    # presence of this variable, with any value, says that a failure should end it.
    os.environ["TF2ONNX_CATCH_ERRORS"] = "false"
    import keras
    import tf2onnx

    with_fresh_messages(tf2onnx.graph.Node)
    keras.utils.set_random_seed(SEED)
    model = build_model(name)
    unchecked = folder / f"{name}.unchecked.onnx"
    proto, _ = tf2onnx.convert.from_keras(model, opset=OPSET, output_path=str(unchecked))
    if unchecked.stat().st_size < 0.95 * 4 * model.count_params():
        raise RuntimeError(f"{name}: the file is smaller than its weights: tf2onnx merged equal ones")
    error, share = check_model(name, model, unchecked)
    facts = {
        "recipe": recipe_digest(),
        "sha256": file_digest(unchecked),
        "bytes": unchecked.stat().st_size,
        "error_against_keras": error,
        "share_of_outputs_that_depend_on_the_input": share,
        "operators": dict(collections.Counter(node.op_type for node in proto.graph.node).most_common()),
    }
    unchecked.replace(folder / f"{name}.onnx")
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    log.unlink()
    return facts


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recipe_digest():
    """Changes when these scripts, or a package used to make the models, change."""
    versions = [
        importlib.metadata.version(name) for name in ("tensorflow-cpu", "keras", "tf2onnx", "onnx", "numpy")
    ]
    scripts = [pathlib.Path(path).read_bytes() for path in (__file__, transformers.__file__)]
    return hashlib.sha256(b"".join(scripts) + " ".join(versions).encode()).hexdigest()


def is_valid(name, folder):
    """Whether the model exists, undamaged, and was made by exactly this recipe."""
    try:
        facts = json.loads((folder / f"{name}.json").read_text())
        return facts["recipe"] == recipe_digest() and facts["sha256"] == file_digest(folder / f"{name}.onnx")
    except (OSError, ValueError, KeyError):
        return False


def make_models(names, folder):
    """Makes what does not exist yet, one after the other (each uses all cores), with one line of progress each."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "tensorflow"}
    for name in names:
        if is_valid(name, folder):
            print(f"{name}: up to date", flush=True)
            continue
        start = time.monotonic()
        # A process per model frees TensorFlow's memory; spawned, because TensorFlow does not survive a fork.
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            facts = pool.submit(write_model, name, folder).result()
        print(
            f"{name}: {facts['bytes'] / 1e6:.1f} MB, {sum(facts['operators'].values())} nodes,"
            f" {facts['error_against_keras']:.1e} from Keras,"
            f" {facts['share_of_outputs_that_depend_on_the_input']:.0%} of the outputs depend on the input,"
            f" {time.monotonic() - start:.0f} s",
            flush=True,
        )


def main(names=MODEL_NAMES, default="models"):
    build = pathlib.Path(__file__).resolve().parent.parent / "build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=pathlib.Path, default=build / default, help=f"default: build/{default}"
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    arguments = parser.parse_args()
    try:
        make_models(arguments.only, arguments.folder)
    except Exception as failure:
        sys.exit(f"error: {failure} (the libraries' output is in {arguments.folder}/NAME.log)")


if __name__ == "__main__":
    main()
