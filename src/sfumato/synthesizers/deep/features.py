"""`Encoding.rows` in torch: codes of a block of rows as vectors, by looking up."""

from __future__ import annotations

import numpy as np
import torch

from sfumato.synthesizers.deep.encoding import Encoding


class FeatureMap:
    """A public row-by-row map from codes (rows x columns) to vectors (rows x width)."""

    def __init__(self, encoding: Encoding, *, dtype: torch.dtype, where: torch.device) -> None:
        self.width, self.dtype = encoding.width, dtype
        coordinate, number, offsets, numeric = [], [], [0], []
        for place, (start, column) in enumerate(zip(encoding.starts, encoding.columns, strict=True)):
            label = column.code_label
            if column.label_width == 1:
                target = np.where(label == 1, start, self.width)
            else:
                target = np.where((label >= 0) & (column.label_width > 0), start + label, self.width)
            coordinate.append(target)
            number.append(column.code_number)
            offsets.append(offsets[-1] + label.size)
            if column.numeric:
                numeric.append((place, start + column.label_width))
        self._coordinate = torch.from_numpy(np.concatenate(coordinate).astype(np.int64)).to(where)
        self._number = torch.from_numpy(np.concatenate(number)).to(where, dtype)
        self._offsets = torch.tensor(offsets[:-1], dtype=torch.int64, device=where)
        self._columns = torch.tensor([place for place, _ in numeric], dtype=torch.int64, device=where)
        self._targets = torch.tensor([target for _, target in numeric], dtype=torch.int64, device=where)

    def __call__(self, codes: torch.Tensor) -> torch.Tensor:
        index = codes + self._offsets
        found = torch.zeros((codes.shape[0], self.width + 1), dtype=self.dtype, device=codes.device)
        found.scatter_(1, self._coordinate[index], 1.0)
        if self._targets.numel():
            found[:, self._targets] = self._number[index[:, self._columns]]
        return found[:, : self.width]
