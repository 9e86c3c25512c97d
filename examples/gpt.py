"""A small GPT: a decoder-only transformer language model, in one file.

The blocks normalise first and add afterwards, as in GPT-2; the token embedding and the output
layer share their weights.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapecheck import Float, Int, shapecheck


@dataclass
class GPTConfig:
    """The sizes of a model; the defaults are those of the smallest GPT-2."""

    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True
    flash: bool = False

    def __post_init__(self) -> None:
        if self.n_embd % self.n_head != 0:
            raise ValueError(f"{self.n_head} heads can't share {self.n_embd} features evenly")


class LayerNorm(nn.Module):
    """Layer normalisation whose bias can be left out."""

    def __init__(self, ndim: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    @shapecheck
    def forward(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which a token sees itself and what stands before it."""

    mask: Tensor

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        # query, key and value of all heads in one matrix
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.dropout = config.dropout
        self.flash = config.flash
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer(
            "mask", mask.view(1, 1, config.block_size, config.block_size), persistent=False
        )

    @shapecheck
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        b, t, d = x.shape

        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(b, t, self.n_head, d // self.n_head).transpose(1, 2)
        k = k.view(b, t, self.n_head, d // self.n_head).transpose(1, 2)
        v = v.view(b, t, self.n_head, d // self.n_head).transpose(1, 2)

        if self.flash:
            y = F.scaled_dot_product_attention(
                q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
            )
        else:
            scale = 1.0 / math.sqrt(k.size(-1))
            att: Float[Tensor, "b n_head t t"] = (q @ k.transpose(-2, -1)) * scale
            att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            att = self.attn_dropout(att)
            y = att @ v
        # (b, n_head, t, head_size) -> the heads side by side
        y = y.transpose(1, 2).contiguous().view(b, t, d)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    @shapecheck
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        x = self.c_fc(x)
        x = self.gelu(x)
        x = self.c_proj(x)
        return self.dropout(x)


class Block(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    @shapecheck
    def forward(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = LayerNorm(config.n_embd, bias=config.bias)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

        self.apply(self._init_weights)
        # The residual path adds 2 * n_layer branches: start them smaller.
        for name, param in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(param, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def num_params(self, non_embedding: bool = True) -> int:
        """Number of parameters, by default without those of the position embedding."""
        total = sum(p.numel() for p in self.parameters())
        return total - self.wpe.weight.numel() if non_embedding else total

    @shapecheck
    def forward(
        self,
        idx: Int[Tensor, "b t"],
        targets: Int[Tensor, "b t"] | None = None,
    ) -> tuple[Float[Tensor, "b #t {self.config.vocab_size}"], Float[Tensor, ""] | None]:
        """Logits and loss with `targets`; without them the logits of the last position only."""
        b, t = idx.shape
        if t > self.config.block_size:
            raise ValueError(f"{t} tokens don't fit into a block of {self.config.block_size}")
        pos = torch.arange(t, device=idx.device)

        tok_emb = self.wte(idx)
        pos_emb = self.wpe(pos)
        x: Float[Tensor, "b t d"] = self.drop(tok_emb + pos_emb)
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)

        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(b * t, -1), targets.view(b * t))
        return logits, loss

    def crop_block_size(self, block_size: int) -> None:
        """Shorten the context of a trained model."""
        if block_size > self.config.block_size:
            raise ValueError(f"{block_size} is more than {self.config.block_size}")
        self.config.block_size = block_size
        self.wpe.weight = nn.Parameter(self.wpe.weight[:block_size])
        for module in self.modules():
            if isinstance(module, CausalSelfAttention):
                module.mask = module.mask[:, :, :block_size, :block_size]

    def configure_optimizers(
        self, weight_decay: float, learning_rate: float, betas: tuple[float, float]
    ) -> torch.optim.Optimizer:
        """AdamW; matrices and embeddings decay, biases and norms don't."""
        params = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=betas)

    @torch.no_grad()
    @shapecheck
    def generate(
        self,
        idx: Int[Tensor, "b t"],
        max_new_tokens: int,
        temperature: float = 1.0,
        top_k: int | None = None,
    ) -> Int[Tensor, "b t+{max_new_tokens}"]:
        """Continue each row of `idx`, one token after the other."""
        for _ in range(max_new_tokens):
            idx_cond = idx[:, -self.config.block_size :]
            logits, _loss = self(idx_cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                top, _indices = torch.topk(logits, min(top_k, logits.size(-1)))
                logits = logits.masked_fill(logits < top[:, [-1]], -float("inf"))
            probs = F.softmax(logits, dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


@shapecheck
def get_batch(
    data: Int[Tensor, "n"], batch_size: int, block_size: int
) -> tuple[
    Int[Tensor, "{batch_size} {block_size}"],
    Int[Tensor, "{batch_size} {block_size}"],
]:
    """Random windows of the data, and the same windows one token later."""
    starts = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in starts.tolist()])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in starts.tolist()])
    return x, y


@shapecheck
def token_losses(
    logits: Float[Tensor, "b t vocab"], targets: Int[Tensor, "b t"]
) -> Float[Tensor, "b t"]:
    """The loss of each token by itself, for a look at where a text surprises the model."""
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


@shapecheck
def perplexity(
    logits: Float[Tensor, "b t vocab"],
    targets: Int[Tensor, "b t"],
    lengths: Int[Tensor, "b"],
) -> Float[Tensor, "b"]:
    """Of each row, over its first `lengths` tokens."""
    keep = torch.arange(targets.size(1)) < lengths[:, None]
    losses = token_losses(logits, targets) * keep
    return torch.exp(losses.sum(dim=1) / lengths)


def build() -> nn.Module:
    torch.manual_seed(0)
    return GPT(GPTConfig(block_size=32, vocab_size=65, n_layer=2, n_head=8, n_embd=64))


def example_inputs() -> tuple[Int[Tensor, "b t"], Int[Tensor, "b t"]]:
    torch.manual_seed(1)
    return get_batch(torch.arange(1000) * 7 % 65, batch_size=4, block_size=24)


def main() -> None:
    model = build()
    assert isinstance(model, GPT)
    idx, targets = example_inputs()
    logits, loss = model(idx, targets)
    print(f"gpt: {model.num_params():,} parameters, {tuple(idx.shape)} -> {tuple(logits.shape)}")

    optimizer = model.configure_optimizers(weight_decay=0.1, learning_rate=3e-3, betas=(0.9, 0.95))
    for _ in range(12):
        logits, loss = model(idx, targets)
        assert loss is not None
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    surprise = perplexity(logits, targets, torch.tensor([24, 20, 16, 12])).tolist()
    new = model.generate(idx[:, :5], max_new_tokens=6, temperature=0.8, top_k=10)
    model.crop_block_size(26)
    model(idx)
    print(
        f"gpt: loss {loss:.3f}, perplexities {', '.join(f'{p:.1f}' for p in surprise)}, "
        f"continued to {tuple(new.shape)}: {new[0].tolist()}"
    )


if __name__ == "__main__":
    main()
