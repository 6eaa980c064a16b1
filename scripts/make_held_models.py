#!/usr/bin/env python3
"""Writes the held set: image classifiers of keras.applications for which nothing in this project was ever tuned.

    build/venv/bin/python scripts/make_held_models.py [FOLDER] [--only NAME ...]

They are measured (bench/held.py) and never looked at otherwise: work on one of them would take away what its figure says.
So the set never changes. Made as make_models.py makes its own, to build/held.
"""

import make_models

MEMBERS = {
    "mobilenet": ("MobileNet", 224, {}),
    "mobilenetv3_small": ("MobileNetV3Small", 224, {"include_preprocessing": False}),
    "nasnet_mobile": ("NASNetMobile", 224, {}),
    "efficientnetv2b0": ("EfficientNetV2B0", 224, {"include_preprocessing": False}),
    "efficientnetb3": ("EfficientNetB3", 300, {}),
    "resnet101": ("ResNet101", 224, {}),
    "densenet169": ("DenseNet169", 224, {}),
    "xception": ("Xception", 299, {}),
    "inception_resnet_v2": ("InceptionResNetV2", 299, {}),
}
make_models.CLASSIFIERS |= MEMBERS  # also in the processes that make them, which import this file

if __name__ == "__main__":
    make_models.main(list(MEMBERS), "held")
