"""Writes a WAV file of a word, as a simple synthesizer speaks it: make_wav.py WORD FILE [SEED]

Source of the formants: G. Peterson, H. Barney, "Control Methods Used in a Study of the Vowels", 1952, means of men.
"""

import sys
import wave

import numpy as np

RATE = 16000
# Sounds: frequencies of three formants in Hz, loudness of the voice and of noise.
SOUNDS = {
    "i": (270, 2290, 3010, 1, 0),
    "e": (530, 1840, 2480, 1, 0),
    "a": (730, 1090, 2440, 1, 0),
    "o": (570, 840, 2410, 1, 0),
    "u": (300, 870, 2240, 1, 0),
    "r": (490, 1350, 1690, 1, 0),
    "n": (250, 1200, 2200, 0.4, 0),
    "s": (500, 1800, 2500, 0, 1),
    "-": (500, 1500, 2500, 0, 0),
}
WORDS = {"silence": "-", "yes": "iees", "no": "nnou", "stop": "ss-aa-", "right": "rraai-s"}


def speak(word, random):
    """A second of sound, float [RATE]: a random voice, pace, start and background."""
    sounds = np.array([SOUNDS["-"], *(SOUNDS[sound] for sound in WORDS[word]), SOUNDS["-"]], float)
    starts = random.uniform(0.1, 0.4) + np.arange(len(sounds)) * random.uniform(0.06, 0.09)
    time = np.arange(RATE) / RATE
    *formants, voice, noise = (np.interp(time, starts, column) for column in sounds.T)
    pitch = random.uniform(90, 220) * (1.1 - 0.2 * time)
    phase, tract = 2 * np.pi * np.cumsum(pitch) / RATE, random.uniform(0.95, 1.15)
    sound = np.zeros(RATE)
    for harmonic in range(1, int(4000 / pitch.max())):
        gain = sum(1 / (1 + ((harmonic * pitch - tract * formant) / 80) ** 2) for formant in formants)
        sound += voice * gain * np.sin(harmonic * phase)
    sound += noise * np.diff(random.normal(0, 0.5, RATE + 1))
    background = random.normal(0, random.uniform(0.001, 0.01), RATE)
    return random.uniform(0.05, 0.15) * sound + background


def to_samples(sound):
    return (np.clip(sound, -1, 1) * 32767).astype("<i2")


def main(word, path, seed=0):
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, RATE, RATE, "NONE", ""))
        file.writeframes(to_samples(speak(word, np.random.default_rng(int(seed)))).tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
