"""A folder of Hugging Face as a whole: the classes that config.json gives the tree are
those of transformers, its sizes are compared with the tensors, and the tokenizer and the
adapter are named."""

import contextlib
import json
import os
import re
import tempfile
import unittest
import warnings
from pathlib import Path

import scope
import torch
from transformers_families import MODELS, build, family_of, true_classes

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
import transformers  # noqa: E402

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

# No rule: embeddings keep their sizes, the rest differs between versions of
# transformers or depends on more than the tensors.
UNNAMED = re.compile("Embedding$|Linear$|Head$|ConvLayer$|Router$|Experts$|"
                     "(Text|Vision)Model$|DeepseekV2Moe$|T5Model$|BottleNeckLayer$")

def details(info):
    """The facts by their names, each with its text and its values by their keys."""
    return {one["id"]: {"text": one["text"],
                        **{part["key"]: part.get("value", part["text"])
                           for part in one["parts"] if "key" in part}}
            for one in info["details"]}  # fmt: skip


def classes(path):
    """Name to class of the whole, "", and of every module whose class is more than the
    kind of its layer ("linear")."""
    found = {one["name"]: one["guess"]["class"]
             for one in scope.document("tree", path)["modules"]
             if not one.get("guess", {}).get("class", "a").islower()}  # fmt: skip
    holds = details(scope.document("info", path))["holds"]["text"]
    whole = re.match(r"an? (\w+) state_dict: ", holds)
    return {"": whole[1], **found} if whole else found


class Folder(unittest.TestCase):
    def setUp(self):
        kept = contextlib.ExitStack()
        self.addCleanup(kept.close)
        self.folder = Path(kept.enter_context(tempfile.TemporaryDirectory()))

    def info(self, path=None):
        return scope.document("info", path or self.folder)

    def said(self, path=None):
        return scope.run("info", path or self.folder).stdout.decode()

    def change(self, name, **items):
        path = self.folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **items}))


class Classes(Folder):
    def true(self, model):
        tensors = scope.document("tree", self.folder)["tensors"]
        return true_classes(model, [one["name"] for one in tensors])

    def test_classes_are_those_of_transformers(self):
        for name, config in MODELS:
            with self.subTest(name):
                model = build(name, config)
                model.save_pretrained(self.folder)
                true, found = self.true(model), classes(self.folder)
                self.assertEqual(found[""], name)
                for module, one in found.items():
                    self.assertEqual(one, true.get(module), module)
                missed = {one for module, one in true.items() if module not in found
                          and re.match(f"{family_of(name)}[A-Z]", one)
                          and not UNNAMED.search(one)
                          and self.in_base(model, module)}  # fmt: skip
                self.assertEqual(missed, set())
                self.assertEqual(self.info()["findings"], [])

    def in_base(self, model, module):
        """Not a part of the head, which depends on the task."""
        base = getattr(model, model.base_model_prefix, None)
        return base is None or f"{module}.".startswith(f"{model.base_model_prefix}.")

    def test_a_base_model_alone(self):
        for family in ("Llama", "Bert", "GPT2", "ViT", "Whisper"):
            with self.subTest(family):
                config = f"{family}Config"
                settings = next(MODELS[one] for one in MODELS if one[1] == config)
                model = build(f"{family}Model", config, **settings)
                model.save_pretrained(self.folder)
                found = classes(self.folder)
                self.assertEqual(found[""], f"{family}Model")
                true = self.true(model)
                self.assertEqual({name: true[name] for name in found}, found)
                # Published so: config.json names the whole, the file has its base.
                self.change("config.json", architectures=[f"{family}ForCausalLM"])
                self.assertEqual(classes(self.folder), found)

    def test_clip_of_version_4_has_a_module_around_the_text_model(self):
        model = build("CLIPTextModelWithProjection")
        model.save_pretrained(self.folder)
        whole = classes(self.folder)
        self.change("config.json", architectures=["CLIPTextModel"])
        self.assertEqual(classes(self.folder), {**whole, "": "CLIPTextModel"})

    def test_shards_a_pickle_and_code_of_ones_own(self):
        model = build("LlamaForCausalLM")
        model.save_pretrained(self.folder, max_shard_size="20KB")
        self.assertGreater(len(list(self.folder.glob("*.safetensors"))), 2)
        whole = classes(self.folder)
        self.assertEqual(whole[""], "LlamaForCausalLM")
        self.assertEqual(classes(self.folder / "model.safetensors.index.json"), whole)
        part = sorted(self.folder.glob("*.safetensors"))[0]
        self.assertEqual(classes(part), {})  # one part is not the model
        self.assertEqual(self.info(part)["findings"], [])
        for one in self.folder.glob("model*"):
            one.unlink()
        torch.save(model.state_dict(), self.folder / "pytorch_model.bin")
        self.assertEqual(classes(self.folder), whole)
        self.change("config.json", auto_map={"AutoModel": "modeling.Mine"})
        self.assertEqual(classes(self.folder), {})


class Sizes(Folder):
    def test_a_size_that_the_tensors_do_not_have_is_a_warning(self):
        build("LlamaForCausalLM").save_pretrained(self.folder)
        for key, found in (("num_hidden_layers", 3), ("vocab_size", 96),
                           ("hidden_size", 32), ("intermediate_size", 48)):  # fmt: skip
            with self.subTest(key):
                self.change("config.json", **{key: 77})
                (one,) = self.info()["findings"]
                self.assertEqual(one["code"], "size-mismatch")
                self.assertIn(f"config.json says {key} 77, the tensors have {found}",
                              one["text"])  # fmt: skip
                self.assertEqual(classes(self.folder), {})
                self.change("config.json", **{key: found})
        self.assertEqual(self.info()["findings"], [])


class Facts(Folder):
    def tokenizer(self):
        import tokenizers

        made = tokenizers.Tokenizer(tokenizers.models.BPE(
            vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))  # fmt: skip
        made.add_special_tokens(["<end>", "a"])
        return made

    def test_the_model_and_the_tokenizer(self):
        build("LlamaForCausalLM").save_pretrained(self.folder)
        made = self.tokenizer()
        made.save(str(self.folder / "tokenizer.json"))
        (self.folder / "tokenizer_config.json").write_text(
            '{"tokenizer_class": "LlamaTokenizer", "chat_template": "{{ x }}"}')  # fmt: skip
        info = self.info()
        model = details(info)["model"]
        self.assertEqual(model["class"], "LlamaForCausalLM")
        self.assertEqual(model["block_count"], 3)
        self.assertEqual(model["attention.head_count_kv"], 2)
        self.assertEqual(info["facts"]["model"]["feed_forward_length"], 48)
        tokens = details(info)["tokenizer"]
        self.assertEqual(tokens["tokens"] + tokens["added"], made.get_vocab_size())
        self.assertEqual(tokens["merges"], 1)
        said = self.said()
        self.assertIn("LlamaForCausalLM (llama), 3 blocks, context 2,048, embedding 32, "
                      "4 heads, 2 of keys and values, vocabulary 96, float32",
                      " ".join(said.split()))  # fmt: skip
        self.assertIn("BPE (LlamaTokenizer), 3 tokens, 1 added, 1 merge, "
                      "a chat template", " ".join(said.split()))  # fmt: skip

    def test_an_adapter(self):
        from safetensors.torch import save_file

        at = "base_model.model.model.layers.0.self_attn.q_proj"
        save_file({f"{at}.lora_A.weight": torch.zeros(8, 16),
                   f"{at}.lora_B.weight": torch.zeros(16, 8)},
                  self.folder / "adapter_model.safetensors")  # fmt: skip
        (self.folder / "adapter_config.json").write_text(json.dumps(
            {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules":
             ["q_proj", "v_proj"], "base_model_name_or_path": "a/Base"}))  # fmt: skip
        said = " ".join(self.said().split())
        self.assertIn("LoRA rank 8, alpha 16, of a/Base: q_proj, v_proj", said)
        self.assertEqual(self.info()["findings"], [])
        self.change("adapter_config.json", r=4)
        (one,) = self.info()["findings"]
        self.assertIn("adapter_config.json says r 4, the tensors have 8", one["text"])
        self.change("adapter_config.json", rank_pattern={"q_proj": 8})
        self.assertEqual(self.info()["findings"], [])

    def test_an_encoder_and_a_decoder(self):
        build("T5ForConditionalGeneration").save_pretrained(self.folder)
        model = self.info()["facts"]["model"]
        self.assertEqual((model["block_count"], model["decoder_block_count"]), (2, 3))
        self.assertEqual(model["feed_forward_length"], 48)
        said = " ".join(self.said().split())
        self.assertIn("2 blocks, 3 blocks of the decoder, embedding 32", said)
        self.change("config.json", num_decoder_layers=77)
        (one,) = self.info()["findings"]
        self.assertIn("config.json says num_decoder_layers 77, the tensors have 3",
                      one["text"])  # fmt: skip

    def test_a_section_of_config_json(self):
        build("CLIPModel").save_pretrained(self.folder)
        vision = json.loads((self.folder / "config.json").read_text())["vision_config"]
        self.change("config.json", vision_config={**vision, "hidden_size": 77})
        (one,) = self.info()["findings"]
        self.assertIn("config.json says vision_config.hidden_size 77, the tensors have "
                      "32", one["text"])  # fmt: skip
        self.assertEqual(classes(self.folder), {})
        # transformers leaves out sizes that have their default
        self.change("config.json", vision_config={}, text_config={})
        self.assertEqual(self.info()["findings"], [])
        self.assertEqual(classes(self.folder)["text_model.encoder"], "CLIPEncoder")

    def test_adapters_of_peft(self):
        for config, said in (
            ({"peft_type": "LORA", "r": 8, "use_dora": True}, "DoRA rank 8"),
            ({"peft_type": "ADALORA", "r": 8, "target_r": 4}, "AdaLoRA rank 4"),
            ({"peft_type": "IA3", "target_modules": ["k_proj"]}, "IA3: k_proj"),
            ({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 5},
             "prompt tuning, 5 virtual tokens"),
            ({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 1},
             "prefix tuning, 1 virtual token"),
            ({"peft_type": "NEWEST"}, "NEWEST"),
        ):  # fmt: skip
            self.adapter(config)
            self.assertEqual(details(self.info())["adapter"]["text"], said)

    def adapter(self, config):
        from safetensors.torch import save_file

        save_file({"prompt_embeddings": torch.zeros(5, 32)},
                  self.folder / "adapter_model.safetensors")  # fmt: skip
        (self.folder / "adapter_config.json").write_text(json.dumps(config))

    def cached(self, name, commits):
        """A repository in the cache of huggingface_hub."""
        repository = self.folder / name
        for commit, model in commits.items():
            snapshot = repository / "snapshots" / commit
            model.save_pretrained(snapshot)
            for file in list(snapshot.iterdir()):
                blob = repository / "blobs" / f"{commit}-{file.name}"
                blob.parent.mkdir(exist_ok=True)
                os.rename(file, blob)
                file.symlink_to(f"../../blobs/{blob.name}")
        (repository / "refs").mkdir()
        return repository

    def test_the_cache_of_hugging_face(self):
        models = {"a1": build("LlamaForCausalLM"), "b2": build("BertForMaskedLM")}
        repository = self.cached("models--a--b", models)
        done = scope.run("info", repository)
        self.assertEqual(done.returncode, 2)  # two snapshots
        self.assertNotIn(b"Traceback", done.stderr)
        (repository / "refs" / "main").write_text("b2\n")
        self.assertEqual(classes(repository)[""], "BertForMaskedLM")
        (repository / "refs" / "main").write_text("../../..")
        self.assertEqual(scope.run("info", repository).returncode, 2)
        alone = self.cached("models--c--d", {"a1": models["a1"]})
        self.assertEqual(classes(alone)[""], "LlamaForCausalLM")
        (alone / "snapshots" / "more").symlink_to("../..")
        (alone / "refs" / "main").write_text("more")
        self.assertEqual(scope.run("info", alone).returncode, 2)

    def test_a_pipeline_of_diffusers(self):
        build("CLIPTextModel").save_pretrained(self.folder / "text_encoder")
        (self.folder / "model_index.json").write_text('{"_class_name": "FluxPipeline"}')
        said = scope.run("info", self.folder).stderr.decode()
        self.assertIn(f"{self.folder} is a pipeline of diffusers, with several models: "
                      "text_encoder/model.safetensors. Name the one to open, as in "
                      f"{self.folder}/text_encoder/model.safetensors", said)
        self.assertEqual(classes(self.folder / "text_encoder")[""], "CLIPTextModel")

    def test_timm_and_open_clip(self):
        from safetensors.torch import save_file

        save_file({"fc.weight": torch.zeros(3, 5)}, self.folder / "model.safetensors")
        (self.folder / "config.json").write_text(
            '{"architecture": "resnet18", "num_classes": 3, "num_features": 512}')
        self.assertEqual(details(self.info())["model"]["text"], "resnet18")
        (self.folder / "config.json").rename(self.folder / "open_clip_config.json")
        torch.save({}, self.folder / "open_clip_pytorch_model.bin")
        os.rename(self.folder / "model.safetensors",
                  self.folder / "open_clip_model.safetensors")  # fmt: skip
        (tensor,) = scope.document("tree", self.folder)["tensors"]
        self.assertEqual(tensor["name"], "fc.weight")

    def test_names_in_a_configuration_cannot_reach_the_terminal(self):
        build("LlamaForCausalLM").save_pretrained(self.folder)
        self.change("config.json", architectures=["\x1b[31mX\u202e" + "y" * 5000],
                    model_type="../../etc/passwd")  # fmt: skip
        for command in ("info", "tree"):
            done = scope.run(command, self.folder)
            self.assertEqual(done.returncode, 0)
            self.assertNotIn(b"\x1b[31mX", done.stdout)
            self.assertNotIn("\u202e".encode(), done.stdout)


if __name__ == "__main__":
    unittest.main()
