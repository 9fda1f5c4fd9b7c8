"""The chart, the devices, the layers and the exports in a real window, with real keys and clicks."""

import pytest


@pytest.mark.parametrize(
    "scene",
    [
        "lines_say_how_they_run",
        "labels_never_collide",
        "pointer_and_click_agree",
        "the_marker_is_dragged",
        "ticked_devices_stay",
        "layers_are_found_and_copied",
        "figures_can_be_published",
        "a_measurement_is_explained",
    ],
)
def test_that_a_person_reads_and_uses_the_chart_and_its_panels(act, scene):
    act(f"scenes_chart:{scene}")
