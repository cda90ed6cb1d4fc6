#!/usr/bin/env python3
"""ggml_grids.py - prints src/measure/ggml/grids.c from the tables of the gguf package:

    build/venv/bin/python3 tools/ggml_grids.py >src/measure/ggml/grids.c

tests/python/gguf_test.py checks that the file is what this prints."""
from gguf import quants

GRIDS = {"iq2_xxs": quants.IQ2_XXS, "iq2_xs": quants.IQ2_XS, "iq2_s": quants.IQ2_S,
         "iq3_xxs": quants.IQ3_XXS, "iq3_s": quants.IQ3_S, "iq1": quants.IQ1_S}
A_LINE = 12


def entries(kind):
    """Each row of the grid as one number."""
    kind.init_grid()
    index = {float(value): i for i, value in enumerate(kind.grid_map)}
    bits = 16 // kind.grid_shape[1]
    for row in kind.grid.reshape(kind.grid_shape):
        yield sum(index[float(value)] << bits * i for i, value in enumerate(row))


def main():
    print("/* Made by tools/ggml_grids.py; see grids_in.h. */\n"
          '#include "measure/ggml/grids_in.h"\n\n/* clang-format off */', end="")
    for name, kind in GRIDS.items():
        words = [f"{entry:#06x}" for entry in entries(kind)]
        print(f"\nconst uint16_t ggml_{name}_grid[{len(words)}] = {{")
        for at in range(0, len(words), A_LINE):
            print("    " + ",".join(words[at:at + A_LINE]) + ",")
        print("};")


if __name__ == "__main__":
    main()
