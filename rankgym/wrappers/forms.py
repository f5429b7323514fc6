"""The two forms of a wrapper: over a single environment, and over a vector environment, made from the class.

Importing this file gives Gymnasium's vector wrappers the attribute ``autoreset_mode``; see ``ModeBelow``.
"""

from typing import Any, ClassVar, TypeAlias

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from rankgym.arguments import action_kind, name_keywords

AnyEnv: TypeAlias = gym.Env[Any, Any] | VectorEnv[Any, Any, Any]  # what a wrapper's class may be called with


class SingleForm(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Base class of wrappers of a single environment. Called with a vector environment they make their vector form.

    The single form is row 0 of the vector form, bit for bit.
    """

    vector: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        name_keywords(cls)
        if "vector" not in vars(cls):  # a subclass of its base's form that is found, and pickled, as ``cls.vector``
            names = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.vector"}
            shared = {name: vars(cls)[name] for name in ("layer_class", "meters") if name in vars(cls)}
            doc = f"``{cls.__name__}`` over a vector environment."
            cls.vector = type(f"Vector{cls.__name__}", (cls.vector,), {**names, "__doc__": doc, **shared})

    def __new__(cls, env: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(env, VectorEnv):
            return cls.vector(env, *args, **kwargs)
        return super().__new__(cls)


class ModeBelow:
    """The attribute ``autoreset_mode`` of vector wrappers around environments of rankgym: that of the environment.

    Gymnasium's vector environments have the attribute, but ``VectorWrapper``, the base class of its wrappers and of
    ours, does not forward it. Around other environments wrappers lack it as before. A wrapper that sets the attribute
    itself keeps its own value.
    """

    def __get__(self, wrapper: Any, owner: Any = None) -> Any:
        if wrapper is None:
            return self
        bare = wrapper.unwrapped
        ours = action_kind(bare) is not None or str(getattr(bare.spec, "id", "")).startswith("rankgym/")
        if not ours or "autoreset_mode" not in wrapper.metadata:
            name = type(wrapper).__name__
            raise AttributeError(
                f"{name!r} object has no attribute 'autoreset_mode'", name="autoreset_mode", obj=wrapper
            )
        return wrapper.metadata["autoreset_mode"]


if not hasattr(VectorWrapper, "autoreset_mode"):
    VectorWrapper.autoreset_mode = ModeBelow()  # type: ignore[attr-defined]
