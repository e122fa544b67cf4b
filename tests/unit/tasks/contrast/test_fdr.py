from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tasks.contrast.fdr import q_values


@given(st.lists(st.floats(0, 1), max_size=30))
def test_q_agrees_with_scipy(p: list[float]) -> None:
    values = np.array(p)
    expected = stats.false_discovery_control(values) if p else values
    np.testing.assert_allclose(q_values(values), expected, atol=1e-12)
