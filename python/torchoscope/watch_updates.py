"""Trainings without an optimizer of torch: the user's own update, or the optimizer of
another library. Gradients are final when a backward ends; the next pass begins a step."""

import weakref


class Updates:
    """Finds the optimizers of a watched model. `watch` is a Watch."""

    def __init__(self, watch):
        self._watch = weakref.ref(watch)
        self._found = None  # weak references to optimizers; None: not searched yet

    def are_manual(self):
        """Has the model no optimizer?"""
        if self._watch()._rounds.began:
            return False
        if self._found is None:
            self._search()
        return not self._found

    def besides(self, optimizer):
        """The other optimizers of the model. This one stepped."""
        known = [one() for one in self._found or ()]
        if not any(one is optimizer for one in known):
            known = self._search()
        return [one for one in known if one is not None and one is not optimizer]

    def backward_ended(self):
        """Look at the parameters that have a gradient."""
        watch = self._watch()
        if watch._rounds.began:
            return
        if self._found is None:
            watch._timed(self._search)
        if not self.are_manual():
            return
        found = {}
        for _, module in watch._recorder._modules:
            for one in module._parameters.values():
                if one is not None and one.grad is not None:
                    found[id(one)] = one
        if found:
            watch._look(None, list(found.values()))

    def _search(self):
        found = self._watch()._recorder.optimizers()
        self._found = [weakref.ref(one) for one in found]
        return found
