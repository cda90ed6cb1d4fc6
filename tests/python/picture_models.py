"""The networks whose pictures are tested, benchmarked and shown in README: (model,
args, kwargs) by name. Real architectures; the large ones have narrow layers, so that a
test takes seconds. Parameters are random."""

import torch
from torch import nn

import architectures
import vision_models


def image(size=64):
    return torch.randn(1, 3, size, size)


def tokens(vocabulary=100, length=12):
    return torch.arange(length).remainder(vocabulary)[None]


def resnet18():
    return vision_models.resnet18(), (image(224),), {}


def resnet50():
    return vision_models.resnet50(), (image(224),), {}


class DenseNet(nn.Module):
    """DenseNet-121 with few channels."""

    def __init__(self, depths=(6, 12, 24, 16), growth=4, width=8):
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(3, width, 7, 2, 3, bias=False))
        for i, depth in enumerate(depths):
            block = architectures.DenseBlock(width, growth, depth, True)
            self.features.add_module(f"denseblock{i + 1}", block)
            width += depth * growth
            if i + 1 < len(depths):
                parts = nn.BatchNorm2d(width), nn.ReLU(True)
                conv = nn.Conv2d(width, width // 2, 1, bias=False)
                between = nn.Sequential(*parts, conv, nn.AvgPool2d(2))
                self.features.add_module(f"transition{i + 1}", between)
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, 10)

    def forward(self, x):
        x = torch.relu(self.features(x)).mean((2, 3))
        return self.classifier(x)


def densenet121():
    return DenseNet(), (image(),), {}


def transformer():
    model = nn.Transformer(64, 4, 3, 3, 128, batch_first=True)
    return model, (torch.randn(1, 10, 64), torch.randn(1, 7, 64)), {}


def gpt2(n_embd=64, n_layer=12, n_head=4):
    from transformers import GPT2Config, GPT2LMHeadModel

    size = {"n_embd": n_embd, "n_layer": n_layer, "n_head": n_head}
    config = GPT2Config(vocab_size=100, n_positions=64, **size)
    return GPT2LMHeadModel(config), (tokens(),), {}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        **{"vocab_size": 100, "hidden_size": 64, "intermediate_size": 128},
        **{"num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2},
    )
    return LlamaForCausalLM(config), (tokens(),), {}


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        **{"vocab_size": 100, "d_model": 64, "d_kv": 16, "d_ff": 128},
        **{"num_layers": 6, "num_heads": 4, "decoder_start_token_id": 0},
    )
    both = {"input_ids": tokens(), "decoder_input_ids": tokens(length=5)}
    return T5ForConditionalGeneration(config), (), both


def lstm():
    return architectures.LSTMLanguageModel(), architectures.lstm_inputs(), {}


def unet():
    return architectures.UNet(), (image(32),), {}


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        **{"vocab_size": 100, "hidden_size": 64, "intermediate_size": 96},
        **{"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2},
        **{"num_local_experts": 4, "num_experts_per_tok": 2},
    )
    return MixtralForCausalLM(config), (tokens(),), {}


MODELS = {
    function.__name__: function
    for function in (
        *(resnet18, resnet50, densenet121, transformer, gpt2),
        *(llama, t5, lstm, unet, mixtral),
    )
}


def make(name):
    """(model in eval mode, args, kwargs), the same each time."""
    torch.manual_seed(0)
    model, args, kwargs = MODELS[name]()
    return model.eval(), tuple(args), kwargs
