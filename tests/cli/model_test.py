"""twinrun model: the catalogue, layers for a batch, Hugging Face's configurations."""

import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_inner": None}


def model(*arguments, text=""):
    return subprocess.run([PROGRAM, "model", *arguments], input=text, capture_output=True, text=True, timeout=60)


def answer(*arguments, text=""):
    result = model(*arguments, "--format", "json", text=text)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


class Model(unittest.TestCase):
    def test_list_names_every_model(self):
        rows = {row["name"]: row for row in answer("list")["models"]}
        for name in ["alexnet", "vgg16", "resnet50", "resnet101", "resnet152", "inception-v3", "amoebanet-d-L-D",
                     "bert-base", "bert-large", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3-175b",
                     "megatron-1.7b", "megatron-1t", "llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3-8b",
                     "llama-3-70b", "llama-3-405b", "mlp-A-B-C"]:
            self.assertIn(name, rows)
        self.assertEqual(rows["resnet50"]["parameters"], 25_557_032)
        self.assertEqual(rows["resnet50"]["forward_flops"], 2 * 4_089_184_256)
        self.assertIsNone(rows["mlp-A-B-C"]["parameters"])

    def test_show_scales_with_the_batch(self):
        one, many = answer("show", "resnet50"), answer("show", "resnet50", "--batch", "64")
        self.assertEqual(one["parameters"], many["parameters"])
        for key in ["forward_flops", "outputs", "activations", "mask_bytes"]:
            self.assertEqual(64 * one[key], many[key])
        for key in ["parameters", "forward_flops", "activations"]:
            self.assertEqual(sum(layer[key] for layer in many["layers"]), many[key])
            self.assertEqual(sum(block[key] for block in many["blocks"]), many[key])

    def test_show_takes_a_sequence(self):
        # Linear layers grow with the tokens, attention (4·S·S·h a layer) with their square.
        short, long = (answer("show", "gpt2", "--seq", s) for s in ["128", "256"])
        self.assertEqual(short["sequence"], 128)
        self.assertEqual(long["forward_flops"] - 2 * short["forward_flops"], 12 * 4 * 768 * 2 * 128 * 128)
        self.assertIn("W0701", model("show", "alexnet", "--seq", "128").stderr)

    def test_every_layer_is_in_the_csv_and_blocks_alike_are_folded_for_people(self):
        rows = list(csv.DictReader(io.StringIO(model("show", "gpt2", "--format", "csv").stdout)))
        self.assertEqual(sum(row["kind"] == "attention" for row in rows), 12)
        shown = model("show", "gpt2").stdout
        self.assertEqual(shown.count(".attention"), 1)
        self.assertIn("124439808 in 148 tensors", shown)

    def test_a_file_of_layers_is_a_model(self):
        text = json.dumps({"name": "mine", "layers": [{"name": "a", "outputs": 5, "parameters": [7, 8]}]})
        self.assertEqual(answer("show", "-", "--batch", "3", text=text)["layers"],
                         [{"name": "a", "kind": "other", "block": "a", "parameters": 15, "forward_flops": 0,
                           "inputs": 0, "outputs": 15, "activations": 15, "mask_bytes": 0}])

    def test_import_writes_a_model_that_show_reads(self):
        with tempfile.TemporaryDirectory() as scratch:
            config, out = pathlib.Path(scratch, "config.json"), pathlib.Path(scratch, "model.json")
            config.write_text(json.dumps(GPT2 | {"novelty": 1}))
            result = model("import", "--from", "hf", str(config), "-o", str(out), "--name", "small")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn('"novelty" is not read', result.stderr)
            shown, known = answer("show", str(out)), answer("show", "gpt2")
            self.assertEqual(shown["name"], "small")
            self.assertEqual(shown["layers"], known["layers"])
            self.assertEqual(answer("show", str(config))["layers"], known["layers"])
            again = model("import", "--from", "hf", str(config), "-o", str(out))
            self.assertNotEqual(again.returncode, 0)  # the file is there already
            self.assertEqual(json.loads(model("import", "--from", "hf", str(config)).stdout)["schema"],
                             "twinrun/model/1")

    def test_mistakes_are_explained(self):
        for arguments, text, code, said in [
            (["show", "resnet5"], "", 3, 'did you mean "resnet50"'),
            (["show", "mlp-784"], "", 3, "E0501"),
            (["show", "gpt2", "--seq", "999999999"], "", 3, "E0505"),
            (["show", "gpt2", "--batch", "0"], "", 2, "--batch"),
            (["show", "megatron-1t", "--batch", "999999999"], "", 2, "too large"),
            (["show", "-"], '{"layers": [{"name": "a", "outputs": 1}, {"name": "a", "outputs": 1}]}', 3, "E0503"),
            (["show", "-"], '{"layers": [{"outputs": 1}]}', 3, "E0201"),
            (["import", "--from", "onnx", "-"], "{}", 2, '"onnx" is not a format'),
            (["import", "--from", "hf", "-"], "{}", 3, "E0507"),
            (["import", "--from", "hf", "-"], "", 3, "E0102"),
            (["import", "--from", "hf", "-"], json.dumps(GPT2 | {"n_head": 7}), 3, "E0508"),
        ]:
            with self.subTest(arguments + [text]):
                result = model(*arguments, text=text)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
