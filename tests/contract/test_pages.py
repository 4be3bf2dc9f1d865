"""The pages say what the code does, in both languages; so do the pictures."""

import pytest

from tests import pages

SITE = pages.Site(pages.ROOT)


@pytest.mark.parametrize("kind", pages.CHECKS)
def test_the_pages_are_true_and_the_pictures_keep_their_rules(kind):
    findings = list(pages.CHECKS[kind](SITE))

    hint = f"what can be derived is rewritten by: {pages.REWRITE}"
    assert not findings, "\n".join([*findings, hint])
