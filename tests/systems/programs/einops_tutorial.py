"""The einops tutorial, part 2, with annotations: https://einops.rocks/2-einops-for-deep-learning/."""

import einops
import torch
import torch.nn.functional as F
from einops import pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import Tensor, nn

from shapecheck import Float, shapecheck


@shapecheck
def channels_last(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b h w c"]:
    return rearrange(x, "b c h w -> b h w c")
    # wrong: return rearrange(x, "b c h w -> b w h c")


@shapecheck
def back_propagated(y0: Float[Tensor, "b c h w"]) -> Float[Tensor, ""]:
    y1 = reduce(y0, "b c h w -> b c", "max")
    y2 = rearrange(y1, "b c -> c b")
    return reduce(y2, "c b -> ", "sum")
    # wrong: return reduce(y2, "c b -> c", "sum")


@shapecheck
def flattened(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b (c h w)"]:
    return rearrange(x, "b c h w -> b (c h w)")
    # wrong: return rearrange(x, "b c h w -> b (h w c)")


@shapecheck
def space_to_depth(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b 4*c h//2 w//2"]:
    return rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) h w", h1=2, w1=2)
    # wrong: return rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) w h", h1=2, w1=2)


@shapecheck
def depth_to_space(x: Float[Tensor, "b 4*c h w"]) -> Float[Tensor, "b c 2*h 2*w"]:
    return rearrange(x, "b (c h1 w1) h w -> b c (h h1) (w w1)", h1=2, w1=2)
    # wrong: return rearrange(x, "b (c h1 w1) h w -> b c (h h1) (w w1)", h1=2, w1=1)


@shapecheck
def averaged(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c"]:
    return reduce(x, "b c h w -> b c", "mean")
    # wrong: return reduce(x, "b c h w -> c b", "mean")


@shapecheck
def pooled(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h//2 w//2"]:
    return reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
    # wrong: return reduce(x, "b c (h 2) w -> b c h w", "max")


@shapecheck
def pooled_over_time(x: Float[Tensor, "2*t b c"]) -> Float[Tensor, "t b c"]:
    return reduce(x, "(t 2) b c -> t b c", "max")
    # wrong: return reduce(x, "(t 2) b c -> b t c", "max")


@shapecheck
def pooled_in_space(x: Float[Tensor, "b c x y z"]) -> Float[Tensor, "b c x//2 y//2 z//2"]:
    return reduce(x, "b c (x 2) (y 2) (z 2) -> b c x y z", "max")
    # wrong: return reduce(x, "b c (x 2) (y 2) (z 2) -> b c x z y", "max")


@shapecheck
def one_image(x: Float[Tensor, "h w c"]) -> Float[Tensor, "1 c h w"]:
    return rearrange(x, "h w c -> () c h w")
    # wrong: return rearrange(x, "h w c -> () c w h")


@shapecheck
def one_prediction(x: Float[Tensor, "1 classes"]) -> Float[Tensor, "classes"]:
    return rearrange(x, "() classes -> classes")
    # wrong: return rearrange(x, "() classes -> 1 classes")


@shapecheck
def normalized(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    y = x - reduce(x, "b c h w -> b c 1 1", "mean")
    # wrong: y = x - reduce(x, "b c h w -> b c", "mean")
    return y - reduce(y, "b c h w -> 1 c 1 1", "mean")
    # wrong: return y - reduce(y, "b c h w -> c 1 1 1", "mean")


@shapecheck
def stacked(images: list[Float[Tensor, "c h w"]]) -> Float[Tensor, "n h w c"]:
    return rearrange(images, "b c h w -> b h w c")
    # wrong: return rearrange(images, "b c h w -> b w h c")


@shapecheck
def stacked_last(images: list[Float[Tensor, "c h w"]]) -> Float[Tensor, "h w c n"]:
    return rearrange(images, "b c h w -> h w c b")
    # wrong: return rearrange(images, "b c h w -> w h c b")


@shapecheck
def joined(images: list[Float[Tensor, "c h w"]]) -> Float[Tensor, "h n*w c"]:
    return rearrange(images, "b c h w -> h (b w) c")
    # wrong: return rearrange(images, "b c h w -> (b w) h c")


@shapecheck
def shuffled(x: Float[Tensor, "b (4 k) h w"]) -> Float[Tensor, "b (k 4) h w"]:
    return rearrange(x, "b (g c) h w -> b (c g) h w", g=4)
    # wrong: return rearrange(x, "b (g c) h w -> b (g c) h w", g=4)


@shapecheck
def largest_box(x: Float[Tensor, "b (4 box) h w"]) -> Float[Tensor, "b h w"]:
    _, _, width, height = rearrange(x, "b (coord box) h w -> coord b box h w", coord=4)
    # wrong: _, _, width, height = rearrange(x, "b (coord box) h w -> coord b h w box", coord=4)
    return reduce(width * height, "b box h w -> b h w", "max")
    # wrong: return reduce(width * height, "b box h w -> b box h", "max")


# What "may drive to very surprising results" when the input is that of a bidirectional LSTM -------


@shapecheck
def directions(x: Float[Tensor, "t b d"], lstm: nn.LSTM) -> Float[Tensor, "t b (2 hidden)"]:
    y, _ = lstm(x)
    return y


@shapecheck
def gated(x: Float[Tensor, "t b (2 hidden)"]) -> Float[Tensor, "t b hidden"]:
    y1, y2 = rearrange(x, "t b (split c) -> split t b c", split=2)
    # wrong: y1, y2 = rearrange(x, "t b (c split) -> split t b c", split=2)
    return y1 * torch.sigmoid(y2)


@shapecheck
def both_ways(
    forward: Float[Tensor, "t b hidden"], backward: Float[Tensor, "t b hidden"]
) -> Float[Tensor, "t b (2 hidden)"]:
    return rearrange([forward, backward], "way t b c -> t b (way c)")
    # wrong: return rearrange([forward, backward], "way t b c -> t b (c way)")


@shapecheck
def glu(x: Float[Tensor, "t b (2 hidden)"]) -> Float[Tensor, "t b hidden"]:
    return F.glu(x, dim=-1)
    # wrong: return F.glu(x, dim=0)


@shapecheck
def heads_merged(x: Float[Tensor, "b heads t d"]) -> Float[Tensor, "b t (heads d)"]:
    return rearrange(x, "b h t d -> b t (h d)")
    # wrong: return rearrange(x, "b h t d -> b t (d h)")


# Shapes that are parsed, packed and strided -----------------------------------------------------


@shapecheck
def plane_by_plane(v: Float[Tensor, "b 3 x y z"]) -> Float[Tensor, "b 6 x y z"]:
    y = rearrange(v, "b c x y z -> (b z) c x y")
    y = nn.Conv2d(3, 6, 3, padding=1)(y)
    return rearrange(y, "(b z) c x y -> b c x y z", **parse_shape(v, "b _ x y z"))
    # wrong: return rearrange(y, "(b z) c x y -> b c x y z", **parse_shape(v, "b c x y z"))


@shapecheck
def strided(x: Float[Tensor, "b c 2*h 2*w"]) -> Float[Tensor, "b c 2*h 2*w"]:
    y = rearrange(x, "b c (h hs) (w ws) -> (hs ws b) c h w", hs=2, ws=2)
    return rearrange(y, "(hs ws b) c h w -> b c (h hs) (w ws)", hs=2, ws=2)
    # wrong: return rearrange(y, "(hs ws b) c h w -> b c (w ws) (h hs)", hs=2, ws=2)


@shapecheck
def with_class_token(
    token: Float[Tensor, "b d"], patches: Float[Tensor, "b h w d"]
) -> Float[Tensor, "b h*w+1 d"]:
    whole, _ = pack([token, patches], "b * d")
    # wrong: whole, _ = pack([token, patches], "b d *")
    return whole


@shapecheck
def without_class_token(
    token: Float[Tensor, "b d"], patches: Float[Tensor, "b h w d"]
) -> Float[Tensor, "b h w d"]:
    whole, shapes = pack([token, patches], "b * d")
    _, rest = unpack(whole, shapes, "b * d")
    # wrong: rest, _ = unpack(whole, shapes, "b * d")
    return rest


@shapecheck
def scores(q: Float[Tensor, "b h t d"], k: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
    return einops.einsum(q, k, "b h t d, b h s d -> b h t s")
    # wrong: return einops.einsum(q, k, "b h t d, b h s d -> b h s t")


@shapecheck
def tiled(x: Float[Tensor, "h w"]) -> Float[Tensor, "h 3 w 2"]:
    return repeat(x, "h w -> h 3 w 2")
    # wrong: return repeat(x, "h w -> h 2 w 3")


@shapecheck
def any_rank(x: Float[Tensor, "b *rest c"]) -> Float[Tensor, "b c *rest"]:
    return rearrange(x, "b ... c -> b c ...")
    # wrong: return rearrange(x, "b ... c -> c b ...")


# Layers -----------------------------------------------------------------------------------------


class Digits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(3, 6, kernel_size=5),
            nn.Conv2d(6, 16, kernel_size=5),
            Reduce("b c (h 2) (w 2) -> b (c h w)", "max"),
            # wrong: Reduce("b c (h 2) w -> b (c h w)", "max"),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 10),
        )

    @shapecheck
    def forward(self, x: Float[Tensor, "b 3 18 18"]) -> Float[Tensor, "b 10"]:
        return self.model(x)


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cut = Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
        # wrong: self.cut = Rearrange("b c (h p) (w q) -> b (p q c) (h w)", p=4, q=4)
        self.mix = EinMix("b t c -> b t d", weight_shape="c d", c=48, d=7)

    @shapecheck
    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b (h//4)*(w//4) 7"]:
        return self.mix(self.cut(x))


def main() -> None:
    x = torch.rand(4, 4, 4, 4, requires_grad=True)
    wide = torch.rand(2, 3, 4, 8)
    assert torch.equal(channels_last(x), x.permute(0, 2, 3, 1))
    back_propagated(x).backward()
    assert x.grad is not None
    assert x.grad.sum() == 16
    assert flattened(x).shape == (4, 64)
    deep = rearrange(space_to_depth(wide), "b (p c) h w -> b (c p) h w", p=4)
    assert torch.equal(depth_to_space(deep), wide)
    assert torch.equal(averaged(x), x.mean((2, 3)))
    assert torch.equal(pooled(x), F.max_pool2d(x, 2))
    assert pooled_over_time(torch.rand(8, 4, 4)).shape == (4, 4, 4)
    assert pooled_in_space(torch.rand(2, 2, 4, 6, 8)).shape == (2, 2, 2, 3, 4)
    assert torch.equal(one_image(x[0]), x[0].permute(2, 0, 1)[None])
    assert one_prediction(torch.rand(1, 5)).shape == (5,)
    assert normalized(x).mean().abs() < 1e-6
    assert torch.equal(stacked(list(x)), channels_last(x))
    assert stacked_last(list(x)).shape == (*joined(list(x[:1])).shape, 4)
    assert shuffled(torch.rand(1, 12, 2, 2)).shape == (1, 12, 2, 2)
    assert largest_box(torch.rand(2, 8, 4, 4)).shape == (2, 4, 4)
    both = directions(torch.rand(3, 2, 5), nn.LSTM(5, 6, bidirectional=True))
    assert torch.equal(gated(both), glu(both))
    assert torch.equal(both_ways(both[..., :6], both[..., 6:]), both)
    assert heads_merged(torch.rand(2, 4, 3, 4)).shape == (2, 3, 16)
    assert plane_by_plane(torch.rand(2, 3, 4, 4, 5)).shape[1] == 6
    assert torch.equal(strided(wide), wide)
    token, patches = torch.rand(2, 5), torch.rand(2, 3, 4, 5)
    assert with_class_token(token, patches).shape == (2, 13, 5)
    assert torch.equal(without_class_token(token, patches), patches)
    assert scores(torch.rand(2, 2, 3, 4), torch.rand(2, 2, 3, 4)).shape == (2, 2, 3, 3)
    assert tiled(torch.rand(2, 3)).shape == (2, 3, 3, 2)
    assert any_rank(torch.rand(2, 3, 4, 2)).shape == (2, 2, 3, 4)
    assert Digits()(torch.rand(2, 3, 18, 18)).shape == (2, 10)
    assert Patches()(torch.rand(2, 3, 16, 16)).shape == (2, 16, 7)
