"""Answers of lab 9: wrong ones to believe, right ones oddly written."""

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

# What stands in the file, and the program that it answers.
RIGHTS = {
    "capitals-and-commas": ("02: OK,  Invalid_arguments", "02"),
    "full-width": ("02\uff1aok\uff0cinvalid_arguments", "02"),
    "full-width-digits": ("\uff10\uff12\uff1aok \uff1binvalid_arguments\u3002", "02"),
    "one-digit": ("2: ok invalid_arguments", "02"),
    "a-full-stop": ("2. ok invalid_arguments.", "02"),
    "a-list": ("- 02) ok; invalid_arguments", "02"),
    "no-colon": ("02 ok invalid_arguments", "02"),
    "a-chinese-comma": ("2\u3001ok\u3001invalid_arguments", "02"),
    "backticks": ("02: `ok` / `invalid_arguments`", "02"),
    "one-piece-of-code": ("`02: ok invalid_arguments`", "02"),
    "two-lines": ("02: ok\ninvalid_arguments", "02"),
    "below-its-number": ("02:\n\n  ok\n  invalid_arguments\n03:", "02"),
    "a-line-of-numbers": ("01: invalid_arguments\n0", "01"),
    "an-answer-that-is-corrected": ("04: True\n04: False", "04"),
    "no-brackets": ("07: done, execution_error, no output", "07"),
    "a-mark-of-the-editor": ("\ufeff04: False", "04"),
}
