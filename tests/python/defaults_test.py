# flavours: both
"""The default inputs of models of well-known libraries. Small classes with the same
attributes replace theirs; the real ones are tested too if they are installed."""

import importlib.util
import types
import unittest
import warnings

import torch
from torch import nn

from torchoscope import summary

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def first_line(model):
    return str(summary(model)).splitlines()[0]


class Picture(nn.Module):
    def __init__(self, channels=3, side=None):
        super().__init__()
        self.conv, self.side = nn.Conv2d(channels, 2, 1), side

    def forward(self, x):
        if self.side and x.shape[-1] != self.side:
            raise ValueError(f"a side of {self.side} is wanted, not {x.shape[-1]}")
        return self.conv(x)


class Timm(unittest.TestCase):
    def test_the_size_of_its_configuration(self):
        model = Picture(side=48)
        model.pretrained_cfg = {"input_size": (3, 48, 48)}
        text = "default input 1×3×48×48 float32, made at random"
        self.assertIn(text, first_line(model))

    def test_a_configuration_that_is_an_object(self):
        model = Picture()
        model.default_cfg = types.SimpleNamespace(input_size=(3, 32, 32))
        self.assertIn("1×3×32×32", first_line(model))

    def test_channels_and_size_come_from_the_constructor(self):
        model = Picture(channels=1, side=16)
        model.pretrained_cfg = {"input_size": (3, 224, 224)}
        model.patch_embed = types.SimpleNamespace(img_size=(16, 16))
        self.assertIn("1×1×16×16", first_line(model))

    def test_models_in_training_mode_with_batchnorm_get_two_images(self):
        model = nn.Sequential(
            nn.Conv2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(2)
        )
        model.pretrained_cfg = {"input_size": (3, 8, 8)}
        self.assertIn("2×3×8×8", first_line(model))
        self.assertIn("1×3×8×8", first_line(model.eval()))

    def test_inputs_that_do_not_fit_fall_back_to_the_structure(self):
        model = Picture(side=7)
        model.pretrained_cfg = {"input_size": (3, 8, 8)}
        text = "not run: its default inputs do not fit: ValueError: a side of 7 is"
        self.assertIn(text, first_line(model))


class Torchvision(unittest.TestCase):
    def line(self, module, kind, **members):
        made = type(kind.__name__, (kind,), {"__module__": module})()
        for name, value in members.items():
            setattr(made, name, value)
        return first_line(made)

    def test_sizes(self):
        for module, shape in (
            ("torchvision.models.resnet", "1×3×224×224"),
            ("torchvision.models.inception", "1×3×299×299"),
            ("torchvision.models.segmentation.fcn", "1×3×224×224"),
        ):
            self.assertIn(f"default input {shape} ", self.line(module, Picture))
        found = self.line("torchvision.models.vision_transformer", Picture, image_size=64)
        self.assertIn("1×3×64×64", found)

    def test_videos(self):
        class Video(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv3d(3, 1, 1)

            def forward(self, x):
                return self.conv(x)

        found = self.line("torchvision.models.video.resnet", Video)
        self.assertIn("1×3×16×112×112", found)
        self.assertIn("1×3×16×224×224", self.line("torchvision.models.video.s3d", Video))

    def test_optical_flow_takes_two_images(self):
        class Flow(nn.Module):
            def forward(self, image1, image2):
                return image1 - image2

        found = self.line("torchvision.models.optical_flow.raft", Flow)
        self.assertIn("default inputs 1×3×128×128 float32, 1×3×128×128", found)

    def test_detection_takes_a_list_and_in_train_mode_boxes(self):
        class Detector(nn.Module):
            def forward(self, images, targets=None):
                if self.training:
                    boxes = targets[0]["boxes"]
                    assert (boxes[:, 2:] > boxes[:, :2]).all()
                    assert targets[0]["labels"].dtype == torch.int64
                return images[0].sum()

        module = "torchvision.models.detection.faster_rcnn"
        self.assertIn("default inputs 3×320×320", self.line(module, Detector))
        found = self.line(module, Detector, training=False)
        self.assertIn("default input 3×320×320 float32, made at random", found)


class Pretrained(nn.Module):
    """Like PreTrainedModel of transformers."""

    main_input_name = "input_ids"
    needs = ()

    def __init__(self, **config):
        super().__init__()
        self.config = types.SimpleNamespace(**config)
        self.embed = nn.Embedding(10, 2)

    def forward(
        self, input_ids=None, pixel_values=None, input_features=None, input_values=None,
        decoder_input_ids=None
    ):  # fmt: skip
        given = dict(locals())
        for name in self.needs:
            if given[name] is None:
                raise ValueError(f"{name} is missing")
        return next(given[name] for name in self.needs)


class Transformers(unittest.TestCase):
    def line(self, *needs, main="input_ids", dummy=None, **config):
        members = {"needs": needs, "main_input_name": main}
        if dummy is not None:
            members["dummy_inputs"] = dummy
        return first_line(type("Model", (Pretrained,), members)(**config))

    def test_image_models(self):
        found = self.line("pixel_values", main="pixel_values", image_size=[32, 48])
        self.assertIn("default input pixel_values 1×3×32×48 float32", found)
        found = self.line(
            "pixel_values", main="pixel_values", image_size=8, num_channels=1, num_frames=4
        )
        self.assertIn("pixel_values 1×4×1×8×8", found)

    def test_whisper(self):
        found = self.line(
            "input_features",
            "decoder_input_ids",
            main="input_features",
            model_type="whisper",
            num_mel_bins=80,
            max_source_positions=50,
            is_encoder_decoder=True,
        )
        self.assertIn("input_features 1×80×100 float32, decoder_input_ids 1×8", found)

    def test_clip_is_tried_after_dummy_inputs_that_do_not_fit(self):
        found = self.line(
            "input_ids",
            "pixel_values",
            dummy={"input_ids": torch.ones(3, 5, dtype=torch.int64)},
            text_config=types.SimpleNamespace(),
            vision_config=types.SimpleNamespace(image_size=16),
        )
        self.assertIn("input_ids 1×8 int64, pixel_values 1×3×16×16 float32", found)

    def test_dummy_inputs_come_first(self):
        dummy = {"input_ids": torch.ones(3, 5, dtype=torch.int64)}
        found = self.line("input_ids", dummy=dummy)
        self.assertIn("dummy_inputs input_ids 3×5 int64", found)

    def test_waveforms_and_spectrograms(self):
        found = self.line("input_values", main="input_values")
        self.assertIn("input_values 1×16000", found)
        found = self.line(
            "input_values",
            main="input_values",
            max_length=64,
            num_mel_bins=16,
            time_stride=10,
        )
        self.assertIn("input_values 1×64×16", found)

    def test_all_known_inputs_are_tried_then_only_the_main_one(self):
        found = self.line("input_ids", "pixel_values", image_size=16)
        self.assertIn("input_ids 1×8 int64, pixel_values 1×3×16×16", found)
        found = self.line("labels_nobody_knows", main="input_ids")
        self.assertIn("not run: its default inputs do not fit: KeyError", found)


class Diffusers(unittest.TestCase):
    def line(self, forward, **config):
        body = {"forward": forward, "__module__": "diffusers.models.unet"}
        model = type("Model", (nn.Module,), body)()
        model.config = config
        return first_line(model)

    def test_a_unet_with_a_condition(self):
        def forward(self, sample, timestep, encoder_hidden_states, class_labels=None):
            assert class_labels is None and timestep.dtype == torch.int64
            return sample * encoder_hidden_states.sum()

        found = self.line(
            forward, in_channels=4, sample_size=16, cross_attention_dim=32
        )
        self.assertIn("sample 1×4×16×16 float32, timestep 1 int64", found)
        self.assertIn("encoder_hidden_states 1×8×32", found)

    def test_sdxl(self):
        def forward(self, sample, timestep, added_cond_kwargs=None):
            assert added_cond_kwargs["text_embeds"].shape == (1, 32)
            return sample * added_cond_kwargs["time_ids"].sum()

        found = self.line(
            forward,
            in_channels=4,
            sample_size=8,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=80,
        )
        self.assertIn("default inputs sample 1×4×8×8", found)

    def test_unknown_arguments_fall_back_to_the_structure(self):
        def forward(self, sample, mystery):
            return sample

        self.assertIn("not run: give it a tensor", self.line(forward, in_channels=3))


class Unknown(unittest.TestCase):
    def test_other_models_are_not_run(self):
        self.assertIn("not run: give it a tensor or a shape", first_line(Picture()))

    def test_unusual_configurations_are_ignored(self):
        for odd in (None, 3, {"input_size": None}, {"input_size": 7}, [1]):
            model = Picture()
            model.pretrained_cfg = odd
            self.assertIn("not run", first_line(model))
        model = Pretrained(image_size="large", is_encoder_decoder=None)
        self.assertIn("not run", first_line(model))


def has(name):
    return importlib.util.find_spec(name) is not None


class Real(unittest.TestCase):
    @unittest.skipUnless(has("timm"), "timm is not installed")
    def test_timm(self):
        import timm

        model = timm.create_model("vit_tiny_patch16_224", img_size=64).eval()
        self.assertIn("default input 1×3×64×64", first_line(model))

    @unittest.skipUnless(has("torchvision"), "torchvision is not installed")
    def test_torchvision(self):
        import torchvision

        model = torchvision.models.mobilenet_v3_small(weights=None)
        self.assertIn("default input 2×3×224×224", first_line(model))

    @unittest.skipUnless(has("diffusers"), "diffusers is not installed")
    def test_diffusers(self):
        import diffusers

        model = diffusers.AutoencoderKL(block_out_channels=(32,), sample_size=16)
        self.assertIn("default input sample 1×3×16×16", first_line(model))

    @unittest.skipUnless(has("transformers"), "transformers is not installed")
    def test_clip(self):
        from transformers import CLIPConfig, CLIPModel

        small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        small["intermediate_size"] = 16
        text = {**small, "vocab_size": 50, "max_position_embeddings": 16}
        vision = {**small, "image_size": 16, "patch_size": 8}
        model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision))
        found = first_line(model.eval())
        self.assertIn("input_ids 1×8 int64, pixel_values 1×3×16×16", found)


if __name__ == "__main__":
    unittest.main()
