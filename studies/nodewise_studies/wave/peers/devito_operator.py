# SPDX-License-Identifier: BSD-3-Clause
"""Devito: the same update, grid, precision, sponge, source and receivers, from its own generated code, autotuned."""

import numpy as np

from nodewise.studies.peers import absent

from ..grid import grid_of, kept, places, start, wavelet

# its messages would be read as a run's
ENVIRONMENT = {"DEVITO_LANGUAGE": "openmp", "DEVITO_LOGGING": "ERROR", "DEVITO_AUTOTUNING": "aggressive"}


def available():
    """Why it cannot run, or None."""
    return absent("devito")


def _along(name, dimension, values):
    """A factor that varies along one direction."""
    from devito import Function

    factor = Function(name=name, dimensions=(dimension,), shape=values.shape, dtype=np.float32, space_order=0)
    factor.data[:] = values
    return factor


def prepare(inputs, point, threads):
    """An operator that is compiled and tuned, and fields as they begin."""
    from devito import Eq, Function, Grid, Operator, SparseTimeFunction, TimeFunction

    ours = grid_of(point)
    shape, steps, order = (ours.nz, ours.ny, ours.nx), int(point["steps"]), int(point["order"])
    # points are one apart
    grid = Grid(shape=shape, extent=tuple(n - 1 for n in shape), dtype=np.float32)
    u = TimeFunction(name="u", grid=grid, time_order=2, space_order=order)
    # its interpolation reaches the next point
    c = Function(name="c", grid=grid, space_order=2)
    c.data[:] = ours.inside(inputs["c"])
    sponge = [
        _along(f"keep{i}", d, kept(point, n)) for i, (d, n) in enumerate(zip(grid.dimensions, shape, strict=True))
    ]
    source, receivers = places(point, ours)
    shot = SparseTimeFunction(name="shot", grid=grid, npoint=1, nt=steps, coordinates=np.array([source], np.float32))
    shot.data[:, 0] = wavelet(steps)
    row = np.array([(*receivers, x) for x in range(ours.nx)], np.float32)
    heard = SparseTimeFunction(name="heard", grid=grid, npoint=ours.nx, nt=steps, coordinates=row)
    update = u + sponge[0] * sponge[1] * sponge[2] * (u - u.backward) + c * u.laplace
    made = [Eq(u.forward, update), shot.inject(field=u.forward, expr=shot * c), heard.interpolate(expr=u.forward)]
    state = {
        "operator": Operator(made),
        "u": u,
        "heard": heard,
        "start": [values.astype(np.float32) for values in start(point, ours)],
        "arguments": {"time_m": 0, "time_M": steps - 1, "nthreads": threads},
        "steps": steps,
        "grid": ours,
    }
    # of as many steps as there are tuning takes the first ones, and leaves something else in the fields
    _restart(state)
    state["operator"].apply(**state["arguments"], autotune="aggressive")
    return state


def _restart(state):
    now, before = state["start"]
    state["u"].data[0] = now
    state["u"].data[2] = before


def run(state):
    """All steps from where the fields are: how large the numbers are does not matter to the time."""
    _restart(state)
    summary = state["operator"].apply(**state["arguments"], autotune=False)
    state["seconds"] = sum(part.time for part in summary.values())


def metrics(state):
    """The time of its own steps, as it measures it, without putting the fields back."""
    return {"seconds": state["seconds"]}


def outputs(state):
    """The fields of the last two steps, as the study holds them."""
    steps, ours, u = state["steps"], state["grid"], state["u"]
    last, earlier = (np.array(u.data[step % 3]) for step in (steps, steps - 1))
    even, odd = (last, earlier) if steps % 2 == 0 else (earlier, last)
    return {"even": ours.padded(even), "odd": ours.padded(odd), "traces": np.array(state["heard"].data).ravel()}
