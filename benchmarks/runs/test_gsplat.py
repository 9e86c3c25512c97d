"""Runs what of gsplat is written in torch, on small sizes; its CUDA extension isn't needed."""

import sys
import types
from unittest import mock

import pytest
import torch
from torch import randn

backend = types.ModuleType("gsplat.cuda._backend")
backend._C = mock.MagicMock()  # type: ignore[attr-defined]
sys.modules.setdefault("gsplat.cuda._backend", backend)

from gsplat import color_correct, losses, regularizers, utils  # noqa: E402
from gsplat.cuda import _math, _torch_impl  # noqa: E402

BATCHES = [(), (2,), (2, 3)]


@pytest.mark.parametrize("batch", BATCHES)
def test_quaternions(batch):
    q, v = randn(*batch, 5, 4), randn(*batch, 5, 3)
    assert _math._quat_to_rotmat(q).shape == (*batch, 5, 3, 3)
    assert _math._quat_rotate(_math._quat_inverse(q), v).shape == (*batch, 5, 3)
    assert _math._quat_multiply(q, q).shape == (*batch, 5, 4)
    assert _math._quat_normalize_rotation(q).shape == (*batch, 5, 4)
    assert utils.normalized_quat_to_rotmat(q).shape == (*batch, 5, 3, 3)
    for triu, shape in ((False, (3, 3)), (True, (6,))):
        for part in _math._quat_scale_to_covar_preci(q, v.exp(), triu=triu):
            assert part.shape == (*batch, 5, *shape)
    assert _math._numerically_stable_norm2(v[..., 0], v[..., 1]).shape == (*batch, 5)
    assert _math._rotmat_to_quat(_math._quat_to_rotmat(randn(7, 4))).shape == (7, 4)


@pytest.mark.parametrize("model", ["pinhole", "ortho", "fisheye"])
@pytest.mark.parametrize("batch", BATCHES)
def test_projection(batch, model):
    means = randn(*batch, 6, 3) + torch.tensor([0.0, 0.0, 5.0])
    quats, scales = randn(*batch, 6, 4), torch.rand(*batch, 6, 3) / 4
    covars, _ = _math._quat_scale_to_covar_preci(quats, scales, True, False)
    views = torch.eye(4).expand(*batch, 2, 4, 4)
    sizes = torch.tensor([[8.0, 0, 8], [0, 8, 8], [0, 0, 1]]).expand(*batch, 2, 3, 3)
    found = _torch_impl._fully_fused_projection(
        means, covars, views, sizes, 16, 16, calc_compensations=True, camera_model=model
    )
    radii, means2d, depths, conics, compensations = found
    assert means2d.shape == (*batch, 2, 6, 2)
    assert conics.shape == (*batch, 2, 6, 3)
    assert compensations.shape == depths.shape == (*batch, 2, 6)
    tiles, ids, _ = _torch_impl._isect_tiles(means2d, radii, depths, 8, 2, 2)
    assert tiles.shape == (*batch, 2, 6)
    images = tiles[..., 0].numel()
    assert _torch_impl._isect_offset_encode(ids, images, 2, 2).shape == (images, 2, 2)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("degree", range(4))
def test_spherical_harmonics(batch, degree):
    dirs, coeffs = randn(*batch, 6, 3), randn(6, 16, 3)
    colors = _torch_impl._spherical_harmonics(degree, dirs, coeffs)
    assert colors.shape == (*batch, 6, 3)


@pytest.mark.parametrize("batch", [1, 2])
def test_losses(batch):
    one, other = torch.rand(batch, 12, 14, 3), torch.rand(batch, 12, 14, 3)
    for name in ("l1", "mse", "huber", "smooth_l1"):
        loss = getattr(losses, f"{name}_loss")
        assert loss(one, other).mean().shape == loss(one[0, 0], other[0, 0]).mean().shape == ()
    losses.ssim_loss(one.permute(0, 3, 1, 2), other.permute(0, 3, 1, 2))
    losses.masked_l1(one, other, torch.rand(batch, 12, 14, 1))
    losses.log_l1(one[..., 0], other[..., 0])
    losses.depth_inverse_mse(one[..., 0], other[..., 0])
    losses.normal_cosine_loss(one, other)
    losses.total_variation_loss(torch.rand(batch, 3, 4, 5, 6))
    losses.opacity_reg_loss(torch.rand(9))
    losses.scale_reg_loss(randn(9, 3))
    losses.gaussian_scale_reg(torch.rand(9, 3), torch.rand(9))
    losses.gaussian_density_reg(torch.rand(9), torch.rand(9))
    losses.gaussian_density_reg(torch.rand(9, 1))
    losses.gaussian_z_scale_reg(torch.rand(9), 0.1)
    losses.out_of_bound_loss(randn(9, 3), torch.rand(9, 3))


def test_images():
    one, other = torch.rand(2, 8, 9, 3), torch.rand(2, 8, 9, 3)
    assert color_correct.color_correct_affine(one, other).shape == one.shape
    assert color_correct.color_correct_quadratic(one, other).shape == one.shape
    mask = torch.rand(1, 1, 8, 9) > 0.5
    regularizers.compute_tv_loss_targeted(torch.rand(1, 3, 8, 9))
    assert regularizers.dilate_mask(mask.float()).shape == mask.shape
    depths, views = torch.rand(2, 8, 9, 1) + 1, torch.eye(4).expand(2, 4, 4)
    sizes = torch.tensor([[8.0, 0, 4], [0, 8, 4], [0, 0, 1]]).expand(2, 3, 3)
    assert utils.depth_to_points(depths, views, sizes).shape == (2, 8, 9, 3)
    assert utils.depth_to_normal(depths, views, sizes).shape == (2, 8, 9, 3)
