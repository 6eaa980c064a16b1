"""The front end of examples/11_plain_c: its coefficients are those that numpy computes, and each damaged sound is one clear error.

Covers: examples/11_plain_c/ features.c wav.c
"""

import ctypes
import struct
import subprocess

import numpy as np
import pytest
from cli_models import SOURCE

RATE, FRAME, STEP, FRAMES, FFT, BANDS, COEFFICIENTS = 16000, 640, 320, 49, 1024, 40, 10


@pytest.fixture(scope="module")
def front_end(tmp_path_factory):
    """What would read or write outside of its arrays stops the program."""
    library = tmp_path_factory.mktemp("front_end") / "front_end.so"
    sources = [SOURCE / "examples/11_plain_c" / name for name in ("features.c", "wav.c")]
    checks = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fstack-protector-all"]
    subprocess.run(
        ["cc", "-std=c11", "-O1", *checks, "-shared", "-fPIC", *sources, "-o", library, "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def compute_features(front_end, samples):
    features = np.full((FRAMES, COEFFICIENTS), np.nan, np.float32)
    front_end.compute_features(ctypes.c_void_p(samples.ctypes.data), ctypes.c_void_p(features.ctypes.data))
    return features


def features_by_numpy(samples):
    frames = np.stack([samples[i * STEP : i * STEP + FRAME] for i in range(FRAMES)]) / 32768
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME + 1)[:-1], FFT)) ** 2
    edges = 700 * np.expm1(np.linspace(*(np.log1p(np.array([20, 4000]) / 700)), BANDS + 2))
    hertz = np.arange(FFT // 2 + 1)[:, None] * RATE / FFT
    rising = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    loudness = np.log(power @ np.maximum(np.minimum(rising, falling), 0) + 1e-6)
    angles = np.pi / BANDS * (np.arange(BANDS)[:, None] + 0.5) * np.arange(COEFFICIENTS)
    return loudness @ np.cos(angles) * np.sqrt(2 / BANDS)


@pytest.mark.parametrize("loudness", [0, 1, 3000, 32767])
def test_coefficients_are_those_of_numpy(front_end, loudness):
    samples = np.random.default_rng(1).uniform(-loudness, loudness, RATE).astype(np.int16)
    np.testing.assert_allclose(
        compute_features(front_end, samples), features_by_numpy(samples), rtol=0, atol=1e-3
    )


def chunk(name, data, size=None):
    return name + struct.pack("<I", len(data) if size is None else size) + data


def riff(*chunks):
    return chunk(b"RIFF", b"WAVE" + b"".join(chunks))


def pcm(kind=1, channels=1, rate=RATE, bits=16):
    frame = channels * bits // 8
    return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * frame, frame, bits))


def read(front_end, tmp_path, contents, capfd):
    """Samples, or what standard error says."""
    path, samples = tmp_path / "sound.wav", np.full(RATE, 77, np.int16)
    path.write_bytes(contents)
    done = front_end.read_wav(str(path).encode(), ctypes.c_void_p(samples.ctypes.data))
    ctypes.CDLL(None).fflush(None)
    said = capfd.readouterr().err
    return samples if done and not said else said.replace(str(path), "FILE")


SOUND = np.arange(-8000, 8000, dtype="<i2").tobytes()


def test_a_sound_is_read(front_end, tmp_path, capfd):
    """Also after other chunks, one of an odd size; of a longer one the first second, and silence after a shorter one."""
    other = chunk(b"LIST", b"odd") + b"\0"
    for data in (riff(pcm(), chunk(b"data", SOUND)), riff(other, pcm(), other, chunk(b"data", SOUND * 2))):
        assert (read(front_end, tmp_path, data, capfd) == np.arange(-8000, 8000)).all()
    short = read(front_end, tmp_path, riff(pcm(), chunk(b"data", SOUND[:2000])), capfd)
    assert (short[:1000] == np.arange(-8000, -7000)).all() and (short[1000:] == 0).all()


WHOLE = riff(pcm(), chunk(b"data", SOUND))
WANT = "want PCM (1) of 1 channel, 16000 samples a second, 16 bits"


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        (b"", "it is not a WAV file"),
        (b"RIFX" + WHOLE[4:], "it is not a WAV file"),
        (WHOLE[:20], "it ends within its format: copy it again"),
        (WHOLE[:36], "it has no samples: copy it again"),
        (WHOLE[:5000], "it ends within its samples: copy it again"),
        (riff(chunk(b"data", SOUND)), "its format does not come before its samples"),
        (riff(pcm(), chunk(b"junk", b"", 2**32 - 1)), "it has no samples: copy it again"),
        (
            riff(pcm(kind=3), chunk(b"data", SOUND)),
            f"{WANT}: got format 3, 1 channels, 16000, 16; convert it",
        ),
        (
            riff(pcm(channels=2), chunk(b"data", SOUND)),
            f"{WANT}: got format 1, 2 channels, 16000, 16; convert it",
        ),
        (
            riff(pcm(rate=44100), chunk(b"data", SOUND)),
            f"{WANT}: got format 1, 1 channels, 44100, 16; convert it",
        ),
        (riff(pcm(bits=8), chunk(b"data", SOUND)), f"{WANT}: got format 1, 1 channels, 16000, 8; convert it"),
    ],
    ids=range(11),
)
def test_a_damaged_sound_is_one_error(front_end, tmp_path, capfd, contents, why):
    assert read(front_end, tmp_path, contents, capfd) == f"error: sound 'FILE': {why}\n"
