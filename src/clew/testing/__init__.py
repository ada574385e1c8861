"""Test what you plug into Clew, and test what you build on it, without a model or a network.

Doubles: `HashEmbedder` and `HashTokenEmbedder` place texts that share words near one another,
`ScriptedLLM` and `ScriptedChat` say what they are told to, and `models` bundles them. Contracts:
subclass `MethodContract`, `EmbedderContract` or `ChatContract` in a pytest module
and give the fixture that it names; every promise that Clew relies on is then a test.

    class TestMine(MethodContract):
        @pytest.fixture
        def method(self):
            return Mine(chunks=5)
"""

from clew.testing.contracts import ChatContract, EmbedderContract, MethodContract
from clew.testing.doubles import HashEmbedder, HashTokenEmbedder, ScriptedChat, ScriptedLLM, models
from clew.testing.small import QUESTIONS, built, small_documents

__all__ = [
    "QUESTIONS",
    "ChatContract",
    "EmbedderContract",
    "HashEmbedder",
    "HashTokenEmbedder",
    "MethodContract",
    "ScriptedChat",
    "ScriptedLLM",
    "built",
    "models",
    "small_documents",
]
