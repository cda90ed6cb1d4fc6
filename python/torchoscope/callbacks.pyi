from typing import Any

from torchoscope import Watch

__all__ = ["LightningWatch", "TrainerWatch"]

class _Watching:
    handle: Watch | None
    def __init__(self, **options: Any) -> None: ...
    def close(self) -> None: ...

# They also inherit from the Callback of lightning and from TrainerCallback.
class LightningWatch(_Watching): ...
class TrainerWatch(_Watching): ...
