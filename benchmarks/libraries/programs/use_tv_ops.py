import torch
from torchvision import ops
from torchvision.ops import FeaturePyramidNetwork, MultiScaleRoIAlign
a = torch.rand(5, 4)
b = torch.rand(7, 4)
iou = ops.box_iou(a, b)
ok = iou.view(5, 7)
bad = iou.view(7, 6)  # BUG
area = ops.box_area(a)
bad2 = area + torch.zeros(4)  # BUG
c = ops.box_convert(a, "xyxy", "cxcywh")
bad3 = c + torch.zeros(5, 5)  # BUG
