"""How the budget of watch() charges the cost of logged steps."""

# flavours: both

import unittest

from torchoscope.recorder import SKIP
from torchoscope.watch_pace import Paced

MS = 10**6


class Rule:
    """Takes the place of the core's rule and adds up what it is charged."""

    cost = 0

    def __init__(self):
        self.charged = 0

    def owe(self, own_ns):
        self.charged += own_ns

    def report(self, mode, user_ns, own_ns, measured):
        self.charged += own_ns


class FirstSteps(unittest.TestCase):
    def charged(self, *steps, excused=0):
        """The ms charged for steps of (mode, user ms, own ms). `excused` ms of the first
        one were charged separately."""
        rule = Rule()
        paced = Paced(rule)
        paced.owe(excused * MS)
        for mode, user, own in steps:
            paced.report(mode, user * MS, own * MS, 0)
        return round(rule.charged / MS)

    def test_a_first_step_that_took_longer_than_counted_is_charged_in_full(self):
        plain = [(SKIP, 60, 0)] * 5
        self.assertEqual(self.charged(("full", 60, 200), *plain), 200)
        self.assertEqual(self.charged(("full", 260, 200), *plain), 400)
        self.assertEqual(self.charged(("full", 260, 200), *plain[:4]), 200)
        self.assertEqual(self.charged(("full", 260, 200), *plain, *plain), 400)

    def test_a_slow_first_step_of_the_user_is_charged_up_to_a_limit(self):
        plain = [(SKIP, 60, 0)] * 5
        self.assertEqual(self.charged(("full", 90_000, 10), *plain), 30)
        self.assertEqual(self.charged(("full", 90_000, 10), *plain, excused=20), 90)

    def test_steps_that_are_all_logged_are_charged_as_counted(self):
        self.assertEqual(self.charged(*[("full", 260, 200)] * 1000), 200_008)


if __name__ == "__main__":
    unittest.main()
