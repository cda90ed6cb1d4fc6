# flavours: both
"""watch(): what it promises about its file and about the training."""

import os
import shutil
import unittest

import torch

import torchoscope
from watch_test import Watched, small, train

torch.set_num_threads(1)


class Files(Watched):
    def trained(self, steps=4):
        model = small()
        with self.watch(model) as handle:
            train(model, steps)
        return handle.path


class Saving(Files):
    def recording(self):
        model = small()
        with torchoscope.record(model) as recording:
            model(torch.randn(3, 4))
        return recording

    def test_a_recording_does_not_replace_a_history(self):
        path = self.trained()
        with self.assertRaisesRegex(ValueError, "the history of a training"):
            self.recording().save(path)
        self.assertEqual(torchoscope.open(path).steps, [0, 1, 2, 3])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_a_history_is_copied(self):
        path, copy = self.trained(), f"{self.folder}/copy.scope"
        history = torchoscope.open(path)
        self.recording().save(copy)  # may be replaced
        history.save(copy)
        history.save(path)  # nothing to do
        again = torchoscope.open(copy)
        self.assertEqual(again.steps, [0, 1, 2, 3])
        series = [one.series("0.weight", "param") for one in (history, again)]
        self.assertEqual(series[0].histograms, series[1].histograms)
        with self.assertRaisesRegex(ValueError, "the history of a training"):
            history.save(self.trained(1))
        self.assertEqual(len(os.listdir(self.folder)), 3)
        # It does not depend on the first file.
        os.remove(path)
        self.assertEqual(len(again.calls("0")), 1)

    def test_nothing_is_saved_onto_a_file_that_is_written(self):
        model = small()
        handle = self.watch(model)
        train(model, 3)
        handle._writer.flush()
        history = torchoscope.open(self.trained())
        link = f"{self.folder}/link.scope"
        os.symlink(handle.path, link)
        for path in (handle.path, link):
            for one in (self.recording(), history):
                with self.assertRaisesRegex(ValueError, "still writing it"):
                    one.save(path)
        handle.close()
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
