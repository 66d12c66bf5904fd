"""Signal transforms against braindecode, MNE and scipy."""

import math

import braindecode.augmentation.functional as braindecode
import mne
import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
import torch
from host_copies import HostCopies
from mne.channels.interpolation import _calc_g

from augnet.testing import check_transform
from augnet.transforms import (
    AmplitudeScale,
    Bandstop,
    CenteredFTSurrogate,
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    FrequencyShift,
    FTSurrogate,
    GaussianNoise,
    SensorRotationX,
    SensorRotationY,
    SensorRotationZ,
    SignFlip,
    Speed,
    TimeMask,
    TimeReverse,
    TimeShift,
    TranslateX,
    build_transforms,
)
from augnet.transforms.frequency import as_products, filtered, hilbert
from augnet.transforms.scalp import cosines, splines

CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")


@pytest.fixture
def x():
    return torch.randn(5, 6, 300, generator=torch.Generator().manual_seed(0))


def test_reversal_and_sign_agree_with_braindecode(x):
    assert torch.equal(TimeReverse(1.0)(x), braindecode.time_reverse(x, None)[0])
    assert torch.equal(SignFlip(1.0)(x), braindecode.sign_flip(x, None)[0])


# How scipy calls the ways to continue a signal.
MODES = {"zeros": "grid-constant", "circular": "grid-wrap"}
paddings = pytest.mark.parametrize("padding", MODES)


@paddings
def test_time_shift_agrees_with_scipy(x, padding):
    shift = torch.tensor([-0.25, -0.0111, 0.0, 0.1, 1.3 / 300], dtype=torch.float64)
    view = TimeShift(padding=padding).transform(x.double(), shift)
    for signal, amount, ours in zip(x.double().numpy(), shift.tolist(), view, strict=True):
        theirs = scipy.ndimage.shift(signal, (0, 300 * amount), order=1, mode=MODES[padding])
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_shifts_by_whole_samples_are_exact(x):
    x = x[..., :256]
    for step in (-64, -3, 0, 1, 40):
        shift = torch.full((5,), step / 256)
        rolled = np.roll(x.numpy(), step, axis=-1)
        np.testing.assert_array_equal(TimeShift().transform(x, shift), rolled)
        rolled[..., slice(0, step) if step >= 0 else slice(step, None)] = 0
        cut = TimeShift(padding="zeros").transform(x, shift)
        np.testing.assert_array_equal(cut, rolled)


def test_time_shift_is_a_translation_of_an_image_of_one_row(x):
    shift = torch.linspace(-0.25, 0.25, 5)
    image = TranslateX().transform(x[:, :, None], shift)[:, :, 0]
    ours = TimeShift(padding="zeros").transform(x, shift)
    torch.testing.assert_close(ours, image, atol=1e-4, rtol=1e-4)


@paddings
def test_speed_agrees_with_scipy(x, padding):
    factor = torch.tensor([0.5, 0.8, 1.0, 1.1, 1.25], dtype=torch.float64)
    view = Speed(padding=padding).transform(x.double(), factor)
    for signal, times, ours in zip(x.double().numpy(), factor.tolist(), view, strict=True):
        theirs = scipy.ndimage.affine_transform(
            signal, (1, times), (0, 149.5 * (1 - times)), order=1, mode=MODES[padding]
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_faster_tone_is_shorter_and_higher():
    time = torch.arange(8000) / 8000
    x = (torch.sin(2 * torch.pi * 400 * time) * ((time > 0.1) & (time < 0.9)))[None, None]
    for factor in (0.8, 1.0, 1.25):
        view = Speed().transform(x, torch.tensor([factor]))[0, 0]
        assert torch.fft.rfft(view).abs().argmax().item() == pytest.approx(400 * factor, abs=1)
        loud = (view.abs() > 0.01).nonzero().flatten()
        duration = min(0.8 / factor, 1.0)  # of a slower one, the window shows the middle
        assert (loud[-1] - loud[0]).item() / 8000 == pytest.approx(duration, abs=0.002)


@paddings
@pytest.mark.parametrize("cls", [TimeShift, Speed])
def test_times_have_the_gradient_of_their_function(cls, padding):
    transform = cls(padding=padding)
    x = torch.randn(3, 2, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    magnitude = x.new_tensor([0.31, 0.57, 0.83]).requires_grad_()
    params = x.new_tensor([-1.0, 0.4, 0.9])
    assert torch.autograd.gradcheck(
        lambda x, magnitude: transform.apply(x, magnitude, params), (x.requires_grad_(), magnitude)
    )


@pytest.mark.parametrize("transform", [TimeShift(padding="zeros"), Speed(padding="circular")])
def test_other_paddings_keep_the_laws(transform):
    check_transform(transform)


def test_paddings_and_shifts_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="time_shift knows zeros, circular; got 'reflection'"):
        TimeShift(padding="reflection")
    with pytest.raises(ValueError, match="above 0 and up to 1 of the duration; got 2"):
        TimeShift(2)


@pytest.mark.parametrize("shape", [(1, 3840), (6, 200), (1, 8000)])
@pytest.mark.parametrize("name", ["time_shift", "speed"])
def test_long_and_short_signals_need_no_options(name, shape):
    x = torch.randn(3, *shape)
    (transform,) = build_transforms(name)
    assert torch.equal(transform(x, 0.0), x)
    assert not torch.equal(transform(x), x)


def test_time_mask_agrees_with_braindecode(x):
    transform = TimeMask(limit=100)
    start = torch.tensor([0.0, 10, 50, 120, 200])
    params = start / (300 - 80)
    theirs, _ = braindecode.smooth_time_mask(x, None, start, 80)
    torch.testing.assert_close(transform.apply(x, 0.8, params), theirs, atol=1e-4, rtol=1e-4)


def test_a_mask_as_long_as_the_signal_silences_it_and_a_longer_one_is_refused():
    view = TimeMask(limit=64)(torch.ones(3, 2, 64))
    assert view[..., 8:-8].abs().max() < 1e-3
    with pytest.raises(
        ValueError, match=r"up to 65 samples takes signals at least as long; got 64"
    ):
        TimeMask(limit=65)(torch.ones(3, 2, 64))


def test_gaussian_noise_has_the_strength_it_says():
    x = torch.zeros(200, 3, 500)
    view = GaussianNoise(limit=0.4)(x, torch.tensor([0.25, 0.5] * 100))
    assert view[::2].std().item() == pytest.approx(0.1, rel=0.01)
    assert view[1::2].std().item() == pytest.approx(0.2, rel=0.01)


def test_amplitudes_go_up_as_often_as_down():
    factor = AmplitudeScale(limit=3)(torch.ones(5000, 1, 1)).flatten()
    assert factor.min().item() == pytest.approx(1 / 3, rel=0.01)
    assert factor.max().item() == pytest.approx(3, rel=0.01)
    assert factor.log().mean().item() == pytest.approx(0, abs=0.03)


def test_frequency_shift_agrees_with_braindecode(x):
    shift = torch.tensor([-4.0, -1, 0, 0.5, 3])
    theirs, _ = braindecode.frequency_shift(x, None, shift, 100.0)
    ours = FrequencyShift(sfreq=100).transform(x, shift)
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("duration", [300, 301, 512, 1])
def test_the_hilbert_transform_agrees_with_scipy(duration):
    x = torch.randn(2, 3, duration, dtype=torch.float64)
    padded = 2 ** int(np.ceil(np.log2(max(duration, 2))))
    theirs = scipy.signal.hilbert(x.numpy(), N=padded, axis=-1).imag[..., :duration]
    np.testing.assert_allclose(hilbert(x), theirs, atol=1e-12)


@pytest.mark.parametrize(("duration", "padded"), [(20, 20), (21, 21), (20, 32)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_filters_know_their_own_gradient(duration, padded, dtype):
    x = torch.randn(3, 2, duration, dtype=torch.float64, requires_grad=True)
    response = torch.randn(3, 1, padded // 2 + 1, dtype=dtype, requires_grad=True)
    plain = torch.fft.irfft(torch.fft.rfft(x, n=padded) * response, n=padded)[..., :duration]
    ours = filtered(x, response, padded)
    torch.testing.assert_close(ours, plain)
    cotangent = torch.randn_like(x)
    theirs = torch.autograd.grad(plain, (x, response), cotangent)
    torch.testing.assert_close(torch.autograd.grad(ours, (x, response), cotangent), theirs)


def test_a_shifted_sinusoid_is_a_sinusoid_at_the_other_frequency():
    time = torch.arange(1024) / 128
    x = torch.sin(2 * torch.pi * 10 * time)[None, None]
    view = FrequencyShift(sfreq=128).transform(x, torch.tensor([2.5]))
    spectrum = torch.fft.rfft(view[0, 0]).abs()
    assert torch.fft.rfftfreq(1024, 1 / 128)[spectrum.argmax()] == 12.5


@pytest.mark.parametrize("duration", [300, 301])
def test_surrogates_agree_with_braindecode(monkeypatch, duration):
    x = torch.randn(4, 6, duration)
    transform = FTSurrogate()
    params = transform.sample_params(x.shape, x, torch.Generator().manual_seed(3))

    def phases(batch, channels, size, device, random_state):
        """Lay our phases out as braindecode's: antisymmetric, none at 0 and at Nyquist."""
        free = 2 * torch.pi * params[..., 1 : (size + 1) // 2].double()
        zero = torch.zeros(batch, 1, 1, dtype=torch.float64)
        middle = [zero] if size % 2 == 0 else []
        return 1j * torch.cat([zero, free, *middle, -free.flip(-1)], dim=-1)

    monkeypatch.setitem(braindecode._new_random_fft_phase, duration % 2, phases)
    theirs, _ = braindecode.ft_surrogate(x, None, 0.7, channel_indep=False)
    torch.testing.assert_close(transform.apply(x, 0.7, params), theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("transform", [FTSurrogate(), CenteredFTSurrogate()], ids=str)
def test_surrogates_keep_the_power_of_each_frequency_and_the_mean(transform, x):
    view = transform(x)
    before, after = (torch.fft.rfft(signal).abs() for signal in (x, view))
    torch.testing.assert_close(after, before, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(view.mean(-1), x.mean(-1), atol=1e-5, rtol=1e-4)


def test_surrogates_shift_all_channels_alike(x):
    twins = x[:, :1].expand(-1, 6, -1)
    view = FTSurrogate()(twins)
    torch.testing.assert_close(view, view[:, :1].expand_as(view))


def test_centered_phases_have_no_mean_delay():
    x = torch.randn(2000, 1, 32)
    one_sided, centered = (
        transform.sample_params(x.shape, x).mean()
        for transform in (FTSurrogate(), CenteredFTSurrogate())
    )
    assert one_sided.item() == pytest.approx(0.5, abs=0.01)
    assert centered.item() == pytest.approx(0, abs=0.02)
    assert CenteredFTSurrogate().sample_params(x.shape, x).abs().max().item() == pytest.approx(
        1, abs=0.01
    )


def test_bandstop_removes_its_band_and_nothing_else():
    time = torch.arange(2000) / 100
    tones = torch.stack([torch.sin(2 * torch.pi * f * time) for f in (10.0, 14.0, 20.0)])
    transform = Bandstop(limit=4, sfreq=100)
    # The band starts 1 Hz above 0, plus a part of the free space: here from 13 to 15 Hz.
    params = torch.tensor([(13 - 1) / (50 - 2 - 2)]).expand(3)
    view = transform.apply(tones[:, None], 0.5, params)[:, 0]
    power = view.square().mean(1) / tones.square().mean(1)
    assert power[1] < 0.01
    assert power[0] > 0.99
    assert power[2] > 0.99


def test_bandstop_agrees_with_mne_away_from_the_edges():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 1, 6000, generator=generator, dtype=torch.float64)
    width, center, sfreq = 4.0, 20.0, 100.0
    params = torch.tensor([(center - width / 2 - 1) / (sfreq / 2 - 2 - width)], dtype=x.dtype)
    ours = Bandstop(limit=width, sfreq=sfreq).apply(x, 1.0, params)[0, 0].numpy()
    theirs = mne.filter.notch_filter(
        x[0, 0].numpy(), sfreq, center, notch_widths=width, method="fir", verbose=False
    )

    def band(signal, low, high):
        frequency, power = scipy.signal.welch(signal, sfreq, nperseg=1000)
        return power[(frequency > low) & (frequency < high)].mean()

    for low, high, gain in [(2, 16, 1), (19, 21, 0), (24, 48, 1)]:
        for stopped in (ours, theirs):
            ratio = band(stopped, low, high) / band(x[0, 0].numpy(), low, high)
            assert ratio == pytest.approx(gain, abs=0.05)


def test_the_spectrum_must_hold_what_the_transform_reaches():
    with pytest.raises(ValueError, match=r"limit of 5 Hz takes sfreq >= 10 Hz.*got 8"):
        FrequencyShift(sfreq=8)
    with pytest.raises(ValueError, match="bandstop with a limit of 2 Hz takes sfreq >= 8 Hz"):
        Bandstop(sfreq=7)


def test_symmetry_agrees_with_braindecode(x):
    theirs, _ = braindecode.channels_permute(x, None, [1, 0, 3, 2, 5, 4])
    assert torch.equal(ChannelSymmetry(1.0, channels=CHANNELS)(x), theirs)


def test_symmetry_knows_the_ten_twenty_system():
    transform = ChannelSymmetry(1.0, channels=("FT9", "Cz", "FT10", "Fp2", "Fp1", "PZ"))
    assert transform.mirror == (2, 1, 0, 4, 3, 5)
    with pytest.raises(ValueError, match="'C3' is there and 'C4' is not"):
        ChannelSymmetry(channels=("C3", "Cz"))
    with pytest.raises(ValueError, match="cannot tell the side of channel 'EMG'"):
        ChannelSymmetry(channels=("C3", "C4", "EMG"))


def test_dropout_silences_whole_channels_at_the_rate_it_says():
    x = torch.ones(2000, 6, 4)
    view = ChannelDropout()(x, 0.3, torch.Generator().manual_seed(0))
    assert torch.equal(view[..., :1].expand_as(view), view)
    assert (view == 0).float().mean().item() == pytest.approx(0.3, abs=0.02)
    silent = (view[..., 0] == 0).float().mean(1)
    assert ((silent > 0) & (silent < 1)).float().mean() > 0.8  # each channel is drawn by itself


def test_shuffle_permutes_the_chosen_channels_among_themselves():
    x = torch.arange(7.0)[None, :, None].expand(3000, 7, 2).contiguous()
    transform = ChannelShuffle()
    draw, rank = transform.sample_params(x.shape, x, torch.Generator().manual_seed(0))
    view = transform.apply(x, 0.6, (draw, rank))[..., 0]
    chosen = draw < 0.6
    assert torch.equal(view.sort(1).values, x[..., 0])
    assert torch.equal(view[~chosen], x[..., 0][~chosen])
    # Every order of the chosen channels is as likely as any other.
    pairs = view[(chosen.sum(1) == 2)], chosen[chosen.sum(1) == 2]
    swapped = (pairs[0] != x[: len(pairs[0]), :, 0]).any(1)
    assert swapped.float().mean().item() == pytest.approx(0.5, abs=0.08)


def positions():
    montage = mne.channels.make_standard_montage("colin27_1020").get_positions()["ch_pos"]
    return np.stack([montage[name] for name in CHANNELS])


@pytest.mark.parametrize(
    ("cls", "axis"), [(SensorRotationX, "x"), (SensorRotationY, "y"), (SensorRotationZ, "z")]
)
def test_rotations_agree_with_braindecode(x, cls, axis):
    angle = torch.tensor([-25.0, -5, 1, 10, 30])
    sphere = torch.from_numpy(positions()).T.float()

    def theirs(angles):
        return braindecode.sensors_rotation(x, None, sphere, axis, angles, spherical_splines=True)[
            0
        ]

    # Theirs smooths the data a little even at rest; ours adds the change alone.
    expected = x + theirs(angle) - theirs(torch.zeros(5))
    ours = cls(channels=CHANNELS).transform(x, angle)
    torch.testing.assert_close(ours, expected, atol=2e-3, rtol=2e-3)


def test_sensor_rotations_are_copied_to_a_device_once(x):
    transform = SensorRotationX(31.5, channels=CHANNELS)
    far = x.to("meta")
    transform.transform(far, torch.zeros(5, device="meta"))
    with HostCopies() as copies:
        transform.transform(far, torch.zeros(5, device="meta"))
    assert copies.calls == []
    assert transform.transform(x.double(), torch.ones(5).double()).dtype == torch.float64
    assert transform == SensorRotationX(31.5, channels=CHANNELS)


def test_sensor_rotations_train_after_inference_and_after_a_graph(x):
    class Rotation(torch.nn.Module):
        def forward(self, x, strength):
            return transform.transform(x, strength)

    for limit, first in enumerate((torch.inference_mode, torch.no_grad)):
        transform = SensorRotationX(40.25 + limit, channels=CHANNELS)
        strength = torch.full((5,), 10.0, requires_grad=True)
        if limit:  # tensors in a graph have no values
            torch.export.export(Rotation(), (x, strength.detach()))
        with first():
            expected = transform.transform(x, strength)
        view = transform.transform(x, strength)
        view.square().sum().backward()
        assert view.equal(expected)
        assert strength.grad.isfinite().all()


@pytest.mark.parametrize("cls", [SensorRotationX, SensorRotationY, SensorRotationZ])
def test_rotations_sum_the_series_of_their_definition(cls):
    transform = cls(180, channels=CHANNELS)
    degrees = torch.linspace(-180, 180, 9, dtype=torch.float64, requires_grad=True)
    x = torch.eye(len(CHANNELS), dtype=torch.float64).expand(9, -1, -1)
    summed, plain = transform.transform(x, degrees), x + transform.mixing(degrees.deg2rad())
    torch.testing.assert_close(summed, plain, atol=1e-10, rtol=0)
    cotangent = torch.randn_like(x)
    slopes = (torch.autograd.grad(view, degrees, cotangent)[0] for view in (summed, plain))
    torch.testing.assert_close(*slopes, atol=1e-8, rtol=0)
    single = transform.transform(x.float(), degrees.float())
    torch.testing.assert_close(single.double(), plain, atol=1e-5, rtol=0)


def test_splines_agree_with_mne():
    cosine = torch.linspace(-1, 1, 101, dtype=torch.float64)
    theirs = _calc_g(cosine.numpy())
    np.testing.assert_allclose(splines(cosine), theirs, rtol=1e-9, atol=1e-15)


def test_a_full_turn_of_a_ring_brings_each_electrode_to_the_next():
    # Four electrodes on the equator: a quarter turn about z hands each potential on.
    ring = ((1.0, 0, 0), (0, 1.0, 0), (-1.0, 0, 0), (0, -1.0, 0))
    transform = SensorRotationZ(90, channels=("e", "n", "w", "s"), positions=ring)
    x = torch.eye(4, dtype=torch.float64).expand(2, 4, 4)
    view = transform.transform(x, torch.tensor([90.0, -90.0], dtype=x.dtype))
    # Regularisation, 1e-5 beside a smallest eigenvalue of some 1e-3, takes about a hundredth.
    torch.testing.assert_close(view[0], x[0].roll(-1, 0), atol=0.03, rtol=0)
    torch.testing.assert_close(view[1], x[1].roll(1, 0), atol=0.03, rtol=0)


def test_an_unknown_electrode_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'C33'.*did you mean 'C3'.*Known: Fp1, .*positions="):
        SensorRotationX(channels=("C33", "C4"))


def test_positions_and_channels_are_checked(x):
    with pytest.raises(ValueError, match=r"one finite position .* got 2 channels"):
        SensorRotationX(channels=("a", "b"), positions=((0.0, 0, 1),))
    with pytest.raises(ValueError, match="at least one channel"):
        SensorRotationX(channels=())
    with pytest.raises(ValueError, match="one finite position"):
        SensorRotationX(channels=("a",), positions=((0.0, math.nan, 1),))
    with pytest.raises(ValueError, match="named more than once: C3"):
        ChannelDropout(channels=("C3", "C3"))
    with pytest.raises(TypeError, match="list of channel names; got 'C3'"):
        ChannelDropout(channels="C3")
    with pytest.raises(ValueError, match=r"built for 2 channels \(C3, C4\); got 6"):
        ChannelSymmetry(channels=("C3", "C4"))(x)


def test_cosines_are_those_of_the_angles():
    ring = torch.tensor([[1.0, 0.6], [0.0, 0.8], [0.0, 0.0]])
    torch.testing.assert_close(cosines(ring, ring), torch.tensor([[1.0, 0.6], [0.6, 1.0]]))


@pytest.mark.parametrize("duration", [300, 301, 256, 6000])
@pytest.mark.parametrize("kind", [torch.float32, torch.complex64])
def test_products_with_matrices_filter_alike(duration, kind):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, duration, generator=generator)
    response = torch.randn(2, 1, duration // 2 + 1, generator=generator, dtype=kind)
    plain = filtered(x, response, duration)
    with as_products():
        torch.testing.assert_close(filtered(x, response, duration), plain, atol=1e-4, rtol=1e-4)
