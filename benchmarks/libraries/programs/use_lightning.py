import lightning as L
import torch
from torch import nn
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Linear(8, 4)
    def forward(self, x):
        return self.net(x)  # BUG
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("loss", loss)
        return loss
lit = Lit()
y = lit(torch.zeros(2, 8))
ok = y + torch.zeros(4)
bad = lit(torch.zeros(2, 9))
bad2 = y + torch.zeros(5)  # BUG
