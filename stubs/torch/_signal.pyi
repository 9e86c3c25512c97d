"""Windows and spectrograms."""

@also(
    "torch.signal.windows.hamming", "torch.signal.windows.hann", "torch.signal.windows.bartlett", "torch.signal.windows.blackman",
    "torch.signal.windows.cosine", "torch.signal.windows.exponential", "torch.signal.windows.gaussian", "torch.signal.windows.kaiser",
    "torch.signal.windows.general_cosine", "torch.signal.windows.general_hamming", "torch.signal.windows.nuttall",
)
def _window(M: int, *args: Any, dtype: DType = None, **kwargs: Any) -> Float[Tensor, "{M}"]: ...

@also("torch.functional.stft")
@method
@example("x: b 1024 | x, 256, return_complex=True")
def stft(input: Inexact[Tensor, ...], n_fft: int, hop_length: int = None, win_length: int = None, window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool = None, return_complex: bool = None, align_to_window: bool = None) -> Rule["stft"]: ...

@also("torch.functional.istft")
@method
@example("x: Complex b 129 17 | x, 256")
def istft(input: Inexact[Tensor, ...], n_fft: int, hop_length: int = None, win_length: int = None, window: Any = None, center: bool = True, normalized: bool = False, onesided: bool = None, length: int = None, return_complex: bool = False) -> Rule["istft"]: ...
