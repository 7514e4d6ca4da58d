"""A campaign: where does a pendulum end up whose motor and sensor are not quite as drawn?"""

from tempfile import mkdtemp

import soacraft as sc
from soacraft import sim


def make() -> sim.System:
    """A joint that is turned to 0.5 rad by a sampled controller."""
    s = sim.System("joint", integrator="rk4", step=2e-3)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0), at=arm.dof("bob"))
    s.add("encoder", sim.Sensor(deviation=1e-3), rate=500)
    s.add("target", sim.Constant(value=0.5))
    s.add("control", sim.PID(kp=60.0, ki=60.0, kd=6.0, lower=-24.0, upper=24.0), rate=250)
    s.connect("arm.q[bob]", "encoder.u")
    s.connect("encoder.y", "control.measured")
    s.connect("target.y", "control.target")
    s.connect("control.command", "motor.voltage")
    return s


if __name__ == "__main__":
    c = sim.Campaign(
        make,
        folder=f"{mkdtemp()}/runs",
        seed=7,
        runs=128,
        t=1.0,
        sampling="sobol",
        vary={
            "motor.R": sim.Truncated(sim.Normal(1.0, 0.1), 0.5, 1.5),
            "motor.k": sim.Uniform(0.045, 0.055),
            "encoder.bias": sim.Normal(0.0, 0.01),
            "arm.q[bob]": sim.Choice((-0.2, 0.0, 0.2)),
        },
        measure={"end": "arm.q[bob][-1]", "highest": "max(arm.q[bob])", "voltage": "max(abs(control.command))"},
    )
    c.run()
    print(c.status())
    print("end, quantile 0.9:", c.quantile(0.9, "end"))
    print("within 0.05 rad:  ", c.probability("end", above=0.45, below=0.55))
    for path, x in c.correlations("end").items():
        print(f"rank correlation of the end with {path}: {x:+.2f}")
    mb, run = sc.load("pendulum"), c.rerun(17)
    print("run 17 again:", f"{run.q[-1, 0]:.6f} rad; in the table: {c.table()['end'][17]:.6f} rad")
