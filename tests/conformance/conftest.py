"""Options of the conformance suites."""


def pytest_addoption(parser):
    parser.addoption(
        "--report",
        metavar="FILE",
        help="where test_tensorflow_operators.py writes which target ran each case (JSON)",
    )
