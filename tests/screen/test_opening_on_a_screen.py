"""Nothing is lost, and nothing is a dead end: a real window, real keys, clicks and drops."""

import pytest

SCENES = (
    "nothing_is_lost",
    "several_models",
    "code_of_the_user",
    "menus_and_mnemonics",
    "a_known_model_needs_no_tensorflow",
    "an_unknown_model_shows_what_is_known",
)


@pytest.mark.parametrize("scene", SCENES)
def test_that_a_person_can_open_everything_and_loses_nothing(act, scene):
    act(f"scenes_opening:{scene}")
