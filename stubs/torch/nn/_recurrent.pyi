"""Recurrent layers; the first result is the output, the second the state."""

@example("64, 128, batch_first=True | x: b t 64")
class RNN(Module):
    weight_ih_l0: T[Tensor, "{1 * self.hidden_size} {self.input_size}"]
    weight_hh_l0: T[Tensor, "{1 * self.hidden_size} {self.hidden_size}"]
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: DType = None) -> None: ...
    @mixes
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent", "rnn"]: ...

@example("64, 128, batch_first=True | x: b t 64")
class LSTM(Module):
    weight_ih_l0: T[Tensor, "{4 * self.hidden_size} {self.input_size}"]
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: DType = None) -> None: ...
    @mixes
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent", "lstm"]: ...

@example("64, 128, batch_first=True | x: b t 64")
class GRU(Module):
    weight_ih_l0: T[Tensor, "{3 * self.hidden_size} {self.input_size}"]
    weight_hh_l0: T[Tensor, "{3 * self.hidden_size} {self.hidden_size}"]
    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: DType = None) -> None: ...
    @mixes
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent", "gru"]: ...

@example("64, 128 | x: b 64")
class RNNCell(Module):
    weight_ih: T[Tensor, "{1 * self.hidden_size} {self.input_size}"]
    weight_hh: T[Tensor, "{1 * self.hidden_size} {self.hidden_size}"]
    bias_ih: T[Tensor, "{1 * self.hidden_size}"]
    bias_hh: T[Tensor, "{1 * self.hidden_size}"]
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: DType = None) -> None: ...
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent cell", "rnn"]: ...

@example("64, 128 | x: b 64")
class LSTMCell(Module):
    weight_ih: T[Tensor, "{4 * self.hidden_size} {self.input_size}"]
    weight_hh: T[Tensor, "{4 * self.hidden_size} {self.hidden_size}"]
    bias_ih: T[Tensor, "{4 * self.hidden_size}"]
    bias_hh: T[Tensor, "{4 * self.hidden_size}"]
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: DType = None) -> None: ...
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent cell", "lstm"]: ...

@example("64, 128 | x: b 64")
class GRUCell(Module):
    weight_ih: T[Tensor, "{3 * self.hidden_size} {self.input_size}"]
    weight_hh: T[Tensor, "{3 * self.hidden_size} {self.hidden_size}"]
    bias_ih: T[Tensor, "{3 * self.hidden_size}"]
    bias_hh: T[Tensor, "{3 * self.hidden_size}"]
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: DType = None) -> None: ...
    def forward(self, input: Any, hx: Any = None) -> Rule["recurrent cell", "gru"]: ...
