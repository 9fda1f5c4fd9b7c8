"""Descriptions of real files of Keras 3 and Keras 2."""

import hashlib

import pytest

CNN = ["functional.keras", "functional.h5", "functional.json", "name with 'quotes' é.keras"]
BAG = ["mixed_bag.keras", "mixed_bag.h5", "mixed_bag.json"]
KERAS_2 = ["old_cnn.h5", "old_cnn.json", "old_cnn.keras", "old_cnn_folder", "old_attention.h5", "old_mixed.h5"]
CUSTOM = ["custom_layers.keras", "custom_model.keras"]


@pytest.fixture
def description(described):
    def of(name: str):
        assert "error" not in described[name], described[name]
        return described[name]["description"]

    return of


def layer(description, path):
    (found,) = [row for row in description["layers"] if row["path"] == path]
    return found


@pytest.mark.parametrize("name", CNN + BAG + KERAS_2 + CUSTOM + ["half.keras", "odd_loss.keras", "h5_inside.keras"])
def test_that_parameters_are_those_keras_counts(description, counts, name):
    model = description(name)
    assert model["trainable_params"] + model["frozen_params"] == counts[name]


@pytest.mark.parametrize("name", CNN + BAG + KERAS_2 + CUSTOM)
def test_that_the_layers_sum_to_the_totals(description, name):
    model = description(name)
    for field in ("trainable_params", "frozen_params", "weight_bytes"):
        assert sum(row[field] for row in model["layers"]) == model[field]


@pytest.mark.parametrize("name", CNN)
def test_that_layers_come_in_order_with_class_and_shape(description, name):
    rows = [(row["path"], row["class_name"], row["output_shapes"][0]) for row in description(name)["layers"]]
    assert rows == [
        ("pictures", "InputLayer", ["batch", 16, 16, 3]),
        ("conv", "Conv2D", ["batch", 16, 16, 8]),
        ("norm", "BatchNormalization", ["batch", 16, 16, 8]),
        ("residual", "Add", ["batch", 16, 16, 8]),
        ("pool", "GlobalAveragePooling2D", ["batch", 8]),
        ("classes", "Dense", ["batch", 3]),
    ]


def test_that_moving_averages_count_as_frozen(description):
    norm = layer(description("functional.keras"), "norm")
    assert (norm["trainable_params"], norm["frozen_params"], norm["weight_bytes"]) == (16, 16, 32 * 4)


@pytest.mark.parametrize("name", ["functional.keras", "functional.h5"])
def test_that_the_saved_optimizer_and_loss_are_reported(description, name):
    assert description(name)["optimizer"] == "SGD (learning_rate 0.1, momentum 0.9)"
    assert description(name)["loss"] == "categorical_crossentropy"


def test_that_losses_of_several_outputs_are_reported_by_output(description):
    assert description("mixed_bag.keras")["loss"] == "kind: mse, price: Huber"


@pytest.mark.parametrize("name", BAG)
def test_that_a_frozen_nested_model_is_flattened_and_frozen(description, name):
    conv = layer(description(name), "base/conv")
    assert (conv["trainable_params"], conv["frozen_params"], conv["trainable"]) == (0, 8 * 27 + 8, False)


@pytest.mark.parametrize("name", BAG)
def test_that_a_shared_layer_counts_once(description, name):
    shared = layer(description(name), "shared")
    assert (shared["trainable_params"], shared["shared"]) == (8 * 8 + 8, True)


@pytest.mark.parametrize("name", BAG)
def test_that_operations_of_the_graph_are_listed(description, name):
    assert layer(description(name), "multiply")["class_name"] == "Multiply"


@pytest.mark.parametrize("name", BAG)
def test_that_inputs_have_names_types_and_unknown_sizes(description, name):
    model = description(name)
    assert [(t["name"], t["shape"], t["dtype"]) for t in model["inputs"]] == [
        ("pictures", ["batch", 32, 32, 3], "float32"),
        ("tokens", ["batch", "tokens_1"], "int32"),
        ("words", ["batch", 1], "string"),
    ]
    assert model["unknown_dims"] == ["tokens_1"]
    assert [t["name"] for t in model["outputs"]] == ["kind", "price"]
    assert any("'words' takes text" in warning for warning in model["warnings"])


def test_that_precision_is_reported_by_layer(description):
    rows = {row["name"]: row["dtype"] for row in description("half.keras")["layers"]}
    assert rows["head"] == "float32"
    assert "mixed_bfloat16" in rows.values()


def test_that_keras_2_precision_is_understood(description):
    assert layer(description("old_mixed.h5"), "half")["dtype"] == "mixed_float16"


@pytest.mark.parametrize("name", ["old_cnn.h5", "old_cnn.keras", "old_cnn_folder"])
def test_that_nested_models_of_keras_2_are_flattened(description, name):
    assert layer(description(name), "inner/dense")["trainable_params"] == 8 * 4 + 4
    assert description(name)["keras_version"].startswith("2.")


def test_that_a_model_class_of_the_users_has_its_own_weights_counted(description):
    model = description("custom_model.keras")
    assert model["class_name"] == "Tower"
    assert layer(model, "tower")["trainable_params"] == 2
    assert model["outputs"][0]["shape"] == ["batch", 2]


@pytest.mark.parametrize("name", ["functional.keras", "functional.h5", "mixed_bag.keras", "mixed_bag.h5", *CUSTOM])
def test_that_weights_that_match_give_no_warning(description, name):
    assert not [w for w in description(name)["warnings"] if "don't match" in w]


def test_that_a_file_named_for_another_format_is_read_by_its_contents(description):
    model = description("h5_inside.keras")
    assert model["format"] == "h5"
    assert "The file's name says .keras, its contents say h5." in model["warnings"]


def test_that_a_loss_of_the_users_is_left_out_with_a_warning(description):
    model = description("odd_loss.keras")
    assert model["loss"] is None
    assert any("saved loss" in warning for warning in model["warnings"])


def test_that_the_hash_is_that_of_the_file(description, saved):
    data = (saved / "functional.keras").read_bytes()
    assert description("functional.keras")["sha256"] == hashlib.sha256(data).hexdigest()


def test_that_an_exported_folder_is_refused_with_what_to_do(described):
    assert "model.export() of Keras 3" in described["exported"]["error"]


def test_that_a_weights_file_is_refused_with_what_to_do(described):
    assert "weights and no configuration" in described["weights_only.weights.h5"]["error"]


def test_that_a_model_without_an_input_shape_says_so(described):
    assert "does not say the shape of its input" in described["unbuilt.json"]["error"]
