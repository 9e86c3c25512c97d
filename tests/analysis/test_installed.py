"""Programs that use installed libraries, of which `installed` has small stand-ins.

They are built as the real ones are: lazy packages, decorators, registries, outputs that are
dataclasses. An error stands on each line that ends in `# BUG`, and nowhere else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from shapecheck.analysis import Diagnostic, Options, Source, analyze_module

PACKAGES: Final = Path(__file__).parent / "installed" / "site-packages"
PROGRAMS: Final = {
    "a model of a lazy package": """
from transformers import TinyConfig, TinyModel
model = TinyModel(TinyConfig(hidden_size=64))
ids = torch.zeros(2, 7, dtype=torch.long)
out = model(ids, attention_mask=torch.ones(2, 7))
h = out.last_hidden_state
h + torch.zeros(2, 7, 64)
h + torch.zeros(2, 7, 32)  # BUG
nn.Linear(64, 2)(out.pooler_output).view(2, 2)
out[1] + torch.zeros(2, 64)
out[1] + torch.zeros(2, 7, 32)  # BUG
out["last_hidden_state"] + torch.zeros(5, 64)  # BUG
out.to_tuple()[0] @ torch.zeros(32, 3)  # BUG
""",
    "a model without what an output may have": """
from transformers import TinyConfig, TinyModel
out = TinyModel(TinyConfig(), add_pooling_layer=False)(torch.zeros(2, 7, dtype=torch.long))
out[0] + torch.zeros(2, 7, 32)
out[0] + torch.zeros(2, 7, 33)  # BUG
len(out.to_tuple())
""",
    "a model of one's own around it": """
from transformers import TinyConfig, TinyModel
class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = TinyModel(TinyConfig())
        self.head = nn.Linear(self.body.config.hidden_size, classes)
        self.wrong = nn.Linear(64, classes)
    def forward(self, ids):
        return self.head(self.body(input_ids=ids).last_hidden_state[:, 0])
    def other(self, ids):
        return self.wrong(self.body(input_ids=ids)[0])  # BUG
net = Net(5)
net(torch.zeros(2, 7, dtype=torch.long)) + torch.zeros(2, 5)
net(torch.zeros(2, 7, dtype=torch.long)) + torch.zeros(2, 6)  # BUG
""",
    "a model by its configuration": """
from transformers import AutoModel, TinyConfig
model = AutoModel.from_config(TinyConfig(hidden_size=16))
h = model(torch.zeros(2, 7, dtype=torch.long)).last_hidden_state
h + torch.zeros(16)
h + torch.zeros(32)  # BUG
""",
    "what the call makes wrong is told at the call": """
from transformers import TinyConfig, TinyModel
model = TinyModel(TinyConfig(hidden_size=30))
model(torch.zeros(2, 7))  # BUG
model(torch.zeros(2, 7, dtype=torch.long))  # BUG
""",
    "a model by its name": """
import timm
x = torch.zeros(2, 3, 32, 32)
net = timm.create_model("mininet18", pretrained=True)
net(x) + torch.zeros(2, 1000)
net(x) + torch.zeros(2, 18)  # BUG
net.forward_features(x) + torch.zeros(2, 18, 16, 16)
net.forward_features(x) + torch.zeros(2, 16, 16, 16)  # BUG
timm.create_model("mininet18.in21k")(x) + torch.zeros(21843)
timm.create_model("mininet18.in21k")(x) + torch.zeros(1000)  # BUG
timm.create_model("mininet18", num_classes=0)(x) + torch.zeros(2, 18)
timm.create_model("mininet18", num_classes=7, in_chans=1)(x)  # BUG
timm.create_model("nothing")(x) + torch.zeros(3)
""",
    "a builder under decorators": """
import torchvision
from torchvision.models import Small_Weights, small
x = torch.zeros(2, 3, 32, 32)
small()(x) + torch.zeros(2, 1000)
small()(x) + torch.zeros(2, 8)  # BUG
small(weights=None, num_classes=5)(x) + torch.zeros(2, 5)
small(pretrained=True)(x) + torch.zeros(2, 999)  # BUG
small(weights="DEFAULT")(x) + torch.zeros(2, 999)  # BUG
net = torchvision.models.small(weights=Small_Weights.DEFAULT)
net.fc = nn.Linear(net.fc.in_features, 4)
net(x) + torch.zeros(2, 4)
net(x) + torch.zeros(2, 1000)  # BUG
body = nn.Sequential(*list(net.children())[:-1])
body(x) + torch.zeros(2, 8, 1, 1)
nn.Linear(8, 3)(body(x))  # BUG
""",
    "what is prepared is as it was": """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
net = nn.Linear(8, 4)
net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 0.1))
net(torch.zeros(2, 8)) + torch.zeros(4)
net(torch.zeros(2, 9))  # BUG
accelerator.prepare(nn.Linear(3, 3))(torch.zeros(2, 4))  # BUG
""",
    "a trainer gives batches to the steps": """
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
class Net(L.LightningModule):
    def __init__(self, d=4, hidden=16):
        super().__init__()
        self.save_hyperparameters()
        self.inner = nn.Linear(d, hidden)
        self.out = nn.Linear(self.hparams.hidden, 3)
    def forward(self, x):
        return self.out(self.inner(x))
    def training_step(self, batch, batch_idx):
        x, y = batch
        self.log("loss", nn.functional.cross_entropy(self(x), y))
        return self.inner(x[:, :3])  # BUG
    def test_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.mse_loss(self(x), y.float())  # BUG
data = TensorDataset(torch.rand(20, 4), torch.randint(0, 3, (20,)))
trainer = L.Trainer(max_epochs=1)
trainer.fit(Net(), DataLoader(data, batch_size=8))
trainer.test(Net(), DataLoader(data, batch_size=8))
""",
}


class Installed:
    """A host that has the stand-ins, where packages are installed."""

    def source(self, module: str) -> Source | None:
        """Return a module of a stand-in."""
        path = PACKAGES.joinpath(*module.split("."))
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                return Source(module, str(file), file.read_text("utf-8"))
        return None


def said(program: str) -> list[Diagnostic]:
    """Return what is said of a program."""
    source = Source("case", "case.py", f"import torch\nfrom torch import nn\n{program}")
    return analyze_module(source, Installed(), Options())


@pytest.mark.parametrize("name", PROGRAMS)
def test_libraries_are_followed(name: str) -> None:
    """What is wrong with a result is told, and nothing of what isn't."""
    lines = PROGRAMS[name].split("\n")
    wanted = [at + 3 for at, line in enumerate(lines) if line.endswith("# BUG")]
    errors = [one for one in said(PROGRAMS[name]) if one.severity == "error"]
    assert sorted({one.span.line for one in errors}) == wanted, errors


def test_an_error_inside_of_a_library_names_the_call() -> None:
    """It is told where the program calls it, with the failing line in a note."""
    found = said(PROGRAMS["what the call makes wrong is told at the call"])
    said_of_ids, said_of_heads = (one.message for one in found if one.severity == "error")
    assert said_of_ids.startswith('"model" with input_ids (2 7) fails in "TinyModel.forward"')
    assert said_of_heads.startswith('"model" with input_ids (2 7) fails in "TinyAttention.')
    assert any("modeling_tiny.py" in one.message for one in found[1:])


def test_what_signatures_leave_out_is_looked_into() -> None:
    """Of a module that they describe, both are known: what they say, and what they don't."""
    found = said(
        """
from torchvision import ops
from torchvision.ops import Wide, box_area
box_area(torch.zeros(3, 4)) + torch.zeros(3)
Wide(3)(torch.zeros(2, 3)) + torch.zeros(2, 6)
ops.Wide(3)(torch.zeros(2, 3)) + torch.zeros(2, 5)
ops.box_area(torch.zeros(3, 4)) + torch.zeros(4)
"""
    )
    assert [one.span.line for one in found if one.severity == "error"] == [8, 9]
