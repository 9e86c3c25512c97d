import torch
from torch import nn
from transformers import BertConfig, BertModel
class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.bert = BertModel(BertConfig())
        self.head = nn.Linear(self.bert.config.hidden_size, classes)
        self.wrong = nn.Linear(512, classes)
    def forward(self, ids, mask):
        h = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        return self.head(h)
    def other(self, ids, mask):
        return self.wrong(self.bert(ids, attention_mask=mask)[1])  # BUG
net = Classifier(5)
ids = torch.zeros(2, 12, dtype=torch.long)
mask = torch.ones(2, 12)
loss = nn.functional.cross_entropy(net(ids, mask), torch.tensor([1, 2]))
bad = net(ids, mask) + torch.zeros(2, 6)  # BUG
bad2 = net.other(ids, mask)
