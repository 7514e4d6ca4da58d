"""An FMU, called by fmpy in a separate process; see `fmu`."""

from __future__ import annotations

import ctypes
import json
import struct
from typing import Any

_TIME = struct.Struct("<dd")
#: Distances beyond a zero at which an event is taken, in seconds: the clock counts nanoseconds.
_BEYOND = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)


class Server:
    """An instance of an FMU, of version 2 or 3, for co-simulation ("cs") or model exchange ("me")."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._c = config
        self._v3, self._me = config["version"] == 3, config["kind"] == "me"
        if self._v3:
            from fmpy.fmi3 import FMU3Model, FMU3Slave  # type: ignore[import-untyped, import-not-found, unused-ignore]

            kind: Any = FMU3Model if self._me else FMU3Slave
        else:
            from fmpy.fmi2 import FMU2Model, FMU2Slave  # type: ignore[import-untyped, import-not-found, unused-ignore]

            kind = FMU2Model if self._me else FMU2Slave
        self._fmu = kind(
            guid=config["token"],
            modelIdentifier=config["identifier"],
            unzipDirectory=config["folder"],
            instanceName=config["name"],
            requireFunctions=False,
        )
        self._in, self._out = struct.Struct(config["in_format"]), struct.Struct(config["out_format"])

    def begin(self, server: dict[str, Any]) -> bytes:
        """Instantiate and initialize; returns states, indicators and outputs as JSON, for the other side."""
        server["self"] = self
        fmu, t0 = self._fmu, self._c["start_time"]
        fmu.instantiate()
        for variable, values in self._c["start"]:
            self._set(variable, values)
        if self._v3:
            fmu.enterInitializationMode(startTime=t0)
        else:
            fmu.setupExperiment(startTime=t0)
            fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        reply: dict[str, Any] = {}
        if self._me:
            self._nx = fmu.getNumberOfContinuousStates() if self._v3 else self._c["states"]
            self._nz = fmu.getNumberOfEventIndicators() if self._v3 else self._c["indicators"]
            self._x, self._dx = ((ctypes.c_double * max(1, self._nx))() for _ in range(2))
            self._z = (ctypes.c_double * max(1, self._nz))()
            self._events()
            reply = {"states": self._states(), "indicators": self._nz, "outputs": self._get_all().hex()}
        elif self._c["serialize"]:
            reply = {"state": self._state().hex()}
        return json.dumps(reply).encode()

    # -- values ------------------------------------------------------------------------------------------------

    def _set(self, variable: Any, values: list[Any]) -> None:
        reference, kind, _ = variable
        if kind == "Boolean":
            values = [bool(x) for x in values]
        getattr(self._fmu, f"set{self._word(kind)}")([reference], values)

    def _get(self, variable: Any) -> list[Any]:
        reference, kind, count = variable
        get = getattr(self._fmu, f"get{self._word(kind)}")
        return list(get([reference], count) if self._v3 else get([reference]))

    def _word(self, kind: str) -> str:
        return {"Enumeration": "Int64" if self._v3 else "Integer"}.get(kind, kind)

    def _set_all(self, body: bytes) -> None:
        flat, at = self._in.unpack(body), 0
        for variable in self._c["inputs"]:
            self._set(variable, list(flat[at : at + variable[2]]))
            at += variable[2]

    def _get_all(self) -> bytes:
        return self._out.pack(*(x for variable in self._c["outputs"] for x in self._get(variable)))

    # -- co-simulation -----------------------------------------------------------------------------------------

    def _state(self) -> bytes:
        held = self._fmu.getFMUState()
        try:
            data: bytes = self._fmu.serializeFMUState(held)
        finally:
            self._fmu.freeFMUState(held)
        return data

    def step(self, body: bytes) -> bytes:
        """Times, the state where it is another one, inputs; outputs, then the state after the step."""
        t, dt = _TIME.unpack_from(body)
        (size,) = struct.unpack_from("<i", body, 16)
        at = 20
        if size >= 0:
            held = self._fmu.deserializeFMUState(bytes(body[at : at + size]))
            try:
                self._fmu.setFMUState(held)
            finally:
                self._fmu.freeFMUState(held)
            at += size
        self._set_all(body[at:])
        outputs = self._get_all()
        if self._v3:
            flags, last = [ctypes.c_bool() for _ in range(3)], ctypes.c_double()
            outcome = [*map(ctypes.byref, flags), ctypes.byref(last)]
            self._fmu.fmi3DoStep(self._fmu.component, t, dt, True, *outcome)
            if flags[2].value or flags[1].value:
                raise RuntimeError(f"it ended its step at t = {last.value:.9g} s")
        else:
            self._fmu.doStep(currentCommunicationPoint=t, communicationStepSize=dt)
        return outputs + (self._state() if self._c["serialize"] else b"")

    # -- model exchange ----------------------------------------------------------------------------------------

    def _events(self) -> None:
        """Iterate in event mode, then go on in continuous time."""
        for _ in range(100):
            if self._v3:
                needed, ended, _, _, due, at = self._fmu.updateDiscreteStates()
            else:
                needed, ended, _, _, due, at = self._fmu.newDiscreteStates()
            if ended:
                raise RuntimeError("it asks to end the simulation")
            if not needed:
                break
        else:
            raise RuntimeError("its discrete states do not settle in 100 iterations")
        if due:
            raise RuntimeError(f"it has a time event at t = {at:.9g} s, which is known in co-simulation alone")
        self._fmu.enterContinuousTimeMode()

    def _states(self) -> list[float]:
        if self._nx:
            self._fmu.getContinuousStates(self._x, self._nx)
        return list(self._x)[: self._nx]

    def _place(self, body: bytes) -> None:
        (t,) = struct.unpack_from("<d", body)
        at = 8 + 8 * self._nx
        self._fmu.setTime(t)
        if self._nx:
            self._x[: self._nx] = struct.unpack_from(f"<{self._nx}d", body, 8)
            self._fmu.setContinuousStates(self._x, self._nx)
        self._set_all(body[at:])

    def rates(self, body: bytes) -> bytes:
        """Time, states, inputs; rates, event indicators, outputs."""
        self._place(body)
        if self._nx:
            get = self._fmu.getContinuousStateDerivatives if self._v3 else self._fmu.getDerivatives
            get(self._dx, self._nx)
        if self._nz:
            self._fmu.getEventIndicators(self._z, self._nz)
        numbers = [*self._dx[: self._nx], *self._z[: self._nz]]
        return struct.pack(f"<{len(numbers)}d", *numbers) + self._get_all()

    def event(self, body: bytes) -> bytes:
        """The number of an event indicator, then time, states, inputs at its zero; the states after the event.

        An FMU looks at the sign of its indicator, and a zero is located to rounding: where the sign is still that of
        before, time goes on by parts of a nanosecond until it is the new one.
        """
        (i,) = struct.unpack_from("<I", body)
        (t,) = struct.unpack_from("<d", body, 4)
        rest = body[12:]
        dx = struct.unpack_from(f"<{self._nx}d", self.rates(body[4:]))
        x = struct.unpack_from(f"<{self._nx}d", rest)
        tail = rest[8 * self._nx :]

        def at(h: float) -> float:
            moved = [a + h * b for a, b in zip(x, dx, strict=True)]
            self._place(struct.pack(f"<{1 + self._nx}d", t + h, *moved) + tail)
            self._fmu.getEventIndicators(self._z, self._nz)
            return float(self._z[i])

        way = at(_BEYOND[-1]) - at(0.0)
        for h in _BEYOND:
            if at(h) * way > 0.0:
                break
        else:  # it is not at a zero: the state has just jumped
            at(0.0)
        self._fmu.enterEventMode()
        self._events()
        return struct.pack(f"<{self._nx}d", *self._states())
