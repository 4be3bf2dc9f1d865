"""Wrong answers of lab 9, predict: what a reader may well believe."""

WRONGS = {
    "a-text-becomes-a-number": ("01", "ok 1"),
    "checked-after-running": ("01", "invalid_arguments 1"),
    "5.0-is-no-integer": ("02", "invalid_arguments invalid_arguments"),
    "true-is-an-integer": ("02", "ok ok"),
    "a-similar-name-will-do": ("03", "ok 1"),
    "a-text-that-says-error-is-one": ("04", "True"),
    "no-text-of-an-exception-is-told": (
        "05",
        "quota_exceeded False execution_error False",
    ),
    "every-text-of-an-exception-is-told": (
        "05",
        "quota_exceeded True execution_error True",
    ),
    "only-the-boundary-has-codes": (
        "05",
        "execution_error True execution_error False",
    ),
    "sys-exit-is-fine": ("06", "ok and on"),
    "a-generator-is-joined": ("07", "done done (no output)"),
    "none-is-a-word": ("07", "done execution_error None"),
    "null-means-the-default": ("08", "a 2000 a 2000"),
    "definitions-are-live": ("09", "read"),
    "a-failure-ends-the-batch": ("10", "execution_error write"),
    "what-runs-first-is-shown-first": (
        "10",
        "ok execution_error unknown_tool read write",
    ),
}
