"""Small HDF5 files of every kind that the reader supports, made with h5py.

    hdf5_files.py FOLDER
"""

import sys
from pathlib import Path

import h5py
import numpy

CONFIG = """{"class_name": "Sequential", "config": {"name": "s", "layers": [
 {"class_name": "Dense", "config": {"name": "d", "units": 6}},
 {"class_name": "Lambda", "config": {"name": "l", "function": ["4w==", null, null],
  "function_type": "lambda"}}]}}"""


def groups(file, values):
    file["g/a"] = values
    file["s"] = "text"
    file["again"] = file["g/a"]
    file["up"] = file["/"]
    file.attrs["title"] = "x"


def filters(file, values):
    file.create_dataset("c", data=values, chunks=(3, 4), compression="gzip",
                        shuffle=True, fletcher32=True)


def growing(file, values):
    file.create_dataset("one", data=values, chunks=(2, 2), maxshape=(None, 6),
                        compression="lzf")
    file.create_dataset("both", data=values, chunks=(2, 2), maxshape=(None, None))


def many(file, values):
    for i in range(20):
        file[f"m{i}"] = values[0, :1]
        file.attrs[f"a{i}"] = i


def model(file, values):
    file.attrs["model_config"] = CONFIG
    file["model_weights/d/d/kernel:0"] = values
    file["model_weights"].attrs["layer_names"] = numpy.array([b"d", b"l"])
    file["model_weights/d"].attrs["weight_names"] = numpy.array([b"d/kernel:0"])


def make(folder):
    values = numpy.arange(60, dtype="f4").reshape(10, 6)
    for low in ("earliest", "latest"):
        for content in (groups, filters, growing, many, model):
            path = Path(folder) / f"{content.__name__}_{low}.h5"
            with h5py.File(path, "w", libver=(low, "latest")) as file:
                content(file, values)


if __name__ == "__main__":
    make(sys.argv[1])
