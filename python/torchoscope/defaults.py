"""Default inputs for models of well-known libraries, chosen by the model's
configuration or the names of its classes. The libraries are not imported."""

import inspect

import torch

from torchoscope.restore import roots_of

_TEXT = 8  # tokens
_SAMPLES = 16000  # of a waveform
_FRAMES = 16  # of a video


class Shape:
    """A tensor to create. `dtype`: None for that of the model. `value`: the value of
    its elements, None for random numbers."""

    def __init__(self, sizes, dtype=None, value=None):
        self.sizes, self.dtype, self.value = tuple(sizes), dtype, value


def candidates(model):
    """(args, kwargs) to try in order, made of Shapes, lists and dicts."""
    roots = roots_of(model)
    if list(roots) != [""]:
        return
    kinds = {one.__module__.partition(".")[0] for one in type(model).__mro__}
    if _is_timm(model):
        yield from _timm(model)
    elif "torchvision" in kinds:
        yield from _torchvision(model)
    elif "diffusers" in kinds and hasattr(getattr(model, "config", None), "get"):
        yield from _diffusers(model)
    elif hasattr(model, "main_input_name") and hasattr(model, "config"):
        yield from _transformers(model)


# --- pictures


def _batch(model):
    """The batch size. BatchNorm in train mode needs more than one value per channel."""
    kind = torch.nn.modules.batchnorm._BatchNorm
    trains = (isinstance(one, kind) and one.training for one in model.modules())
    return 2 if any(trains) else 1


def _channels(model, usual=3):
    """The input channels of the first convolution."""
    for one in model.modules():
        if isinstance(one, (torch.nn.Conv2d, torch.nn.Conv3d)):
            return one.in_channels
    return usual


def _is_timm(model):
    return _timm_size(model) is not None


def _timm_size(model):
    for name in ("pretrained_cfg", "default_cfg"):
        found = getattr(model, name, None)
        if not hasattr(found, "get"):
            found = getattr(found, "__dict__", {})
        size = found.get("input_size")
        if isinstance(size, (list, tuple)) and len(size) == 3:
            return tuple(size)
    return None


def _timm(model):
    channels, *size = _timm_size(model)
    made_for = getattr(getattr(model, "patch_embed", None), "img_size", None)
    if isinstance(made_for, (list, tuple)) and len(made_for) == 2:
        size = made_for
    yield (Shape((_batch(model), _channels(model, channels), *size)),), {}


def _torchvision(model):
    """Chosen by the module of the class: torchvision.models.detection.faster_rcnn."""
    path = ".".join(one.__module__ for one in type(model).__mro__)
    batch, channels = _batch(model), _channels(model)
    if ".detection." in path:
        yield _detection(model)
    elif ".optical_flow." in path:
        pair = Shape((batch, 3, 128, 128)), Shape((batch, 3, 128, 128))
        yield pair, {}
    elif ".video." in path:
        side = 112 if ".video.resnet" in path else 224
        yield (Shape((batch, channels, _FRAMES, side, side)),), {}
    else:
        side = getattr(model, "image_size", None)
        if not isinstance(side, int):
            side = 299 if ".inception" in path else 224
        yield (Shape((batch, channels, side, side)),), {}


def _detection(model):
    """A list of images; in train mode, also targets with one box each."""
    pictures = [Shape((3, 320, 320))]
    if not model.training:
        return (pictures,), {}
    box = {
        "boxes": Shape((1, 4), torch.float32, [[40.0, 40.0, 200.0, 200.0]]),
        "labels": Shape((1,), torch.int64, [1]),
        "masks": Shape((1, 320, 320), torch.uint8, 1),
        "keypoints": Shape((1, 17, 3), torch.float32, 100.0),
    }
    return (pictures, [box]), {}


# --- transformers


def _transformers(model):
    """Chosen by main_input_name; for models with several parts (CLIP), an input for
    each part."""
    config = model.config
    known = {
        "pixel_values": _pixels,
        "pixel_values_videos": _video,
        "input_ids": _tokens,
        "input_features": _features,
        "input_values": _waveform,
        "bbox": _boxes,
    }
    names = list(inspect.signature(model.forward).parameters)
    main = model.main_input_name
    every = {name: known[name](config) for name in names if name in known}
    every = {name: one for name, one in every.items() if one is not None}
    decoder = {}
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in names:
        decoder["decoder_input_ids"] = _tokens(config)
    tried = []
    for wanted in (
        {name for name in every if name == main or _has_part(config, name)},
        set(every),
        {main} & set(every),
    ):
        if wanted and wanted not in tried:
            tried.append(wanted)
            yield (), {**{n: one for n, one in every.items() if n in wanted}, **decoder}


def _has_part(config, name):
    parts = {
        "pixel_values": ("vision_config",),
        "input_ids": ("text_config",),
        "input_features": ("audio_config",),
    }
    return any(hasattr(config, part) for part in parts.get(name, ()))


def _of(config, *names):
    """The first of these attributes that the configuration or one of its nested
    configurations has."""
    parts = ("vision_config", "audio_config", "text_config", "backbone_config", "encoder")
    inner = [getattr(config, part, None) for part in parts]
    for one in (config, *inner):
        for name in names:
            found = getattr(one, name, None)
            if found is not None and not isinstance(found, type(_of)):
                return found
    return None


def _side(config):
    size = _of(config, "image_size", "input_size", "img_size")
    size = (size, size) if isinstance(size, int) else size
    if isinstance(size, dict):
        size = (size.get("height"), size.get("width"))
    fits = isinstance(size, (list, tuple)) and len(size) == 2
    return tuple(size) if fits and all(isinstance(one, int) for one in size) else None


def _pixels(config):
    side = _side(config) or (224, 224)
    channels = _of(config, "num_channels", "in_channels", "in_chans")
    channels = channels if isinstance(channels, int) else 3
    frames = _of(config, "num_frames")
    if isinstance(frames, int) and frames > 1:
        return Shape((1, frames, channels, *side))
    return Shape((1, channels, *side))


def _video(config):
    frames = _of(config, "num_frames", "frames_per_clip") or _FRAMES
    return Shape((1, frames, 3, *(_side(config) or (224, 224))))


def _tokens(config):
    return Shape((1, _TEXT), torch.int64)


def _boxes(config):
    return Shape((1, _TEXT, 4), torch.int64, 1)


def _features(config):
    bins = _of(config, "num_mel_bins", "input_feat_per_channel", "feature_size")
    if not isinstance(bins, int):
        return None
    frames = _of(config, "max_source_positions")
    if getattr(config, "model_type", "") in ("whisper", "qwen2_audio"):
        return Shape((1, bins, 2 * frames))
    return Shape((1, 128, bins))


def _waveform(config):
    bins = getattr(config, "num_mel_bins", None)
    if getattr(config, "max_length", None) and bins and hasattr(config, "time_stride"):
        return Shape((1, config.max_length, bins))  # a spectrogram
    return Shape((1, _SAMPLES))


# --- diffusers


def _diffusers(model):
    """Chosen by the names of forward's arguments and by the configuration."""
    config = model.config
    names = inspect.signature(model.forward).parameters
    makers = {
        "sample": _latents,
        "hidden_states": _latents,
        "timestep": lambda config: Shape((1,), torch.int64, 1),
        "encoder_hidden_states": _condition,
        "pooled_projections": lambda config: _row(config.get("pooled_projection_dim")),
        "added_cond_kwargs": _added,
        "class_labels": _label,
        "controlnet_cond": _control,
    }
    made = {name: makers[name](config) for name in names if name in makers}
    made = {name: one for name, one in made.items() if one is not None}
    needed = {key for key, one in names.items() if one.default is one.empty}
    needed -= {"args", "kwargs", "conditioning_scale"}
    if made and needed <= set(made):
        yield (), made


def _row(size):
    return Shape((1, size)) if isinstance(size, int) else None


def _latents(config):
    channels, size = config.get("in_channels"), config.get("sample_size")
    if not isinstance(channels, int):
        return None
    size = (size, size) if isinstance(size, int) else size
    if not isinstance(size, (list, tuple)):
        size = (64, 64)
    return Shape((1, channels, *size))


def _condition(config):
    size = config.get("joint_attention_dim") or config.get("cross_attention_dim")
    size = size[0] if isinstance(size, (list, tuple)) else size
    if config.get("encoder_hid_dim_type") == "text_proj":
        size = config.get("encoder_hid_dim")
    return Shape((1, _TEXT, size)) if isinstance(size, int) else None


def _added(config):
    if config.get("addition_embed_type") != "text_time":
        return None
    times = 6
    whole = config.get("projection_class_embeddings_input_dim")
    size = whole - times * config.get("addition_time_embed_dim")
    return {"text_embeds": Shape((1, size)), "time_ids": Shape((1, times))}


def _label(config):
    has_classes = config.get("num_class_embeds") or config.get("num_embeds_ada_norm")
    return Shape((1,), torch.int64, 1) if has_classes else None


def _control(config):
    size = config.get("sample_size") or 64
    # Each block but the first halves the condition.
    blocks = len(config.get("conditioning_embedding_out_channels") or (0,) * 4)
    size *= 2 ** (blocks - 1)
    return Shape((1, config.get("conditioning_channels") or 3, size, size))
