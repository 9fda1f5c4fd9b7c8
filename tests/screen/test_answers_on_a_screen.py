"""From a question to an answer in a real window, with real keys and clicks."""

import pytest


@pytest.mark.parametrize("scene", ["a_pasted_log_leads_to_a_plan", "the_headline_says_why", "what_is_assumed_is_said"])
def test_that_a_person_gets_from_a_question_to_an_answer(act, scene):
    act(f"scenes_answer:{scene}")
