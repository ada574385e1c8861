"""The reader as a PyTorch network: a MiniLM encoder with four small heads.

It reads `[CLS] question [SEP] bridge [SEP] title . statements [SEP]`; the question and bridge have
token type 0, the passage has 1. Each statement is scored by the mean of its pieces beside that of
[CLS], which alone scores the passage. The heads of the answer's first and last piece are for
training only: they tell the encoder more than the other labels do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

WIDTH, HEADS, INNER, PIECES, PLACES, EPSILON = 384, 12, 1536, 30522, 512, 1e-12


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.reads = nn.Linear(WIDTH, 3 * WIDTH)
        self.adds = nn.Linear(WIDTH, WIDTH)
        self.widens = nn.Linear(WIDTH, INNER)
        self.narrows = nn.Linear(INNER, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, eps=EPSILON) for _ in range(2))
        self.drop = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        n, length, _ = hidden.shape
        parts = self.reads(hidden).view(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(n, length, WIDTH)
        hidden = self.norms[0](hidden + self.drop(self.adds(mixed)))
        inner = self.narrows(functional.gelu(self.widens(hidden)))
        return self.norms[1](hidden + self.drop(inner))


class Reader(nn.Module):
    """The encoder with its heads."""

    def __init__(self, layers: int = 6, dropout: float = 0.1) -> None:
        super().__init__()
        self.pieces = nn.Embedding(PIECES, WIDTH)
        self.places = nn.Embedding(PLACES, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.drop = nn.Dropout(dropout)
        self.of_statement = nn.Linear(2 * WIDTH, 2)  # holds the answer, supports it
        self.of_passage = nn.Linear(WIDTH, 1)  # has the answer
        self.of_piece = nn.Linear(WIDTH, 2)  # begins the answer, ends it

    def encode(self, pieces: Tensor, types: Tensor) -> Tensor:
        """Return the (n, length, WIDTH) vectors of pieces; piece 0 is padding."""
        places = torch.arange(pieces.shape[1])
        hidden = self.norm(self.pieces(pieces) + self.types(types) + self.places(places))
        hidden = self.drop(hidden)
        mask = (pieces != 0)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return hidden

    def forward(
        self, pieces: Tensor, types: Tensor, means: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of statements (n, s, 2), passages (n,) and pieces (n, length, 2).

        `means` (n, s, length) has what each piece weighs in the mean of each statement.
        """
        hidden = self.encode(pieces, types)
        first = hidden[:, 0]
        statements = means @ hidden
        wide = torch.cat([statements, first[:, None].expand_as(statements)], dim=2)
        return self.of_statement(wide), self.of_passage(first)[:, 0], self.of_piece(hidden)


def load_published(reader: Reader, weights: Mapping[str, Tensor], taken: tuple[int, ...]) -> None:
    """Set the encoder to published weights of MiniLM, and its layers to those `taken`."""

    def copy(module: nn.Module, *names: str) -> None:
        module.weight.data.copy_(torch.cat([weights[f"{name}.weight"] for name in names]))
        if f"{names[0]}.bias" in weights:
            module.bias.data.copy_(torch.cat([weights[f"{name}.bias"] for name in names]))

    copy(reader.pieces, "embeddings.word_embeddings")
    copy(reader.places, "embeddings.position_embeddings")
    copy(reader.types, "embeddings.token_type_embeddings")
    copy(reader.norm, "embeddings.LayerNorm")
    for layer, number in zip(reader.layers, taken, strict=True):
        at = f"encoder.layer.{number}."
        copy(layer.reads, *(f"{at}attention.self.{name}" for name in ("query", "key", "value")))
        copy(layer.adds, f"{at}attention.output.dense")
        copy(layer.widens, f"{at}intermediate.dense")
        copy(layer.narrows, f"{at}output.dense")
        copy(layer.norms[0], f"{at}attention.output.LayerNorm")
        copy(layer.norms[1], f"{at}output.LayerNorm")
