"""The accuracy of memory() for real training steps: ResNet-50 and GPT-2.

The truth is torch's profiler, started before the model is built; it includes scratch
memory inside operations, which a prediction cannot know.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # some VMs claim AMX

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python"), str(HERE.parent / "samples")]
sys.path.insert(0, str(HERE.parents[1] / "build/c/python"))

import bench  # noqa: E402
import torch  # noqa: E402
from memory_test import profiled  # noqa: E402
from scenario_models import resnet50  # noqa: E402

import torchoscope  # noqa: E402

WITHIN = 0.03


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    shape = {"n_layer": 6, "n_embd": 512, "n_head": 8, "vocab_size": 8192}
    return GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0))


MODELS = {
    "ResNet-50, 2×3×224×224": (resnet50, lambda: torch.randn(2, 3, 224, 224)),
    "GPT-2 of 6×512, 4×128": (gpt2, lambda: torch.randint(0, 8192, (4, 128))),
}


def main():
    table = bench.Table("memory(): distance from the profiler's peak, with Adam")
    for name, (make, inputs) in MODELS.items():
        try:
            model = make()
        except ImportError as why:
            table.line(name, bench.NotRun(why), str)
            continue
        given = inputs()
        found = torchoscope.memory(model, given)
        real = profiled(make, (given,))
        note = f"{found.peak / 2**20:.1f} of {real / 2**20:.1f} MiB"
        off = abs(found.peak - real) / real
        table.line(name, [off], "{:.2%}".format, WITHIN, note=note)
    return 1 if table.short else 0


if __name__ == "__main__":
    sys.exit(main())
