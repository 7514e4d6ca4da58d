"""A slider-crank, and all of it by hand: kinematics, the equation of motion, and the forces in its bearings.

The crank turns by theta about y, at the origin; the rod is at psi, so that the wrist, at its end, stays on the x axis:

    r sin(theta) + l sin(psi) = 0,    x = r cos(theta) + l cos(psi)

With a prime for d/d theta, J alpha + J'/2 omega^2 + V' = torque; then Newton and Euler for rod, slider and crank.
"""

from dataclasses import dataclass

import numpy as np

import soacraft as sc

Y = (0, 1, 0)
G = 9.81


@dataclass(frozen=True)
class SliderCrank:
    r: float = 0.05
    l: float = 0.2
    m1: float = 1.2
    c1: float = 0.02
    I1: float = 2e-3
    m2: float = 0.6
    c2: float = 0.07
    I2: float = 2.5e-3
    m3: float = 0.8

    def build(self):
        """Dofs crank, rod, slider; the wrist is cut."""
        mb = sc.Multibody("slider_crank", gravity=(0, 0, -G))
        moment = [np.diag([0.6 * I, I, 0.7 * I]) for I in (self.I1, self.I2)]
        mb.add_body("crank", None, sc.Pin(Y), sc.Inertia(self.m1, (self.c1, 0, 0), moment[0]))
        at_pin = sc.Pose(np.eye(3), (self.r, 0, 0))
        rod = mb.add_body("rod", "crank", sc.Pin(Y), sc.Inertia(self.m2, (self.c2, 0, 0), moment[1]), at_pin)
        mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia(self.m3))
        end = rod.add_node("end", sc.Pose(np.eye(3), (self.l, 0, 0)))
        mb.close_loop("wrist", "slider", end, sc.Pin(Y))
        return mb

    def motion(self, theta):
        """psi and x with their first and second derivatives by theta."""
        k, s, c = self.r / self.l, np.sin(theta), np.cos(theta)
        psi = -np.arcsin(k * s)
        p1 = -k * c / np.cos(psi)
        p2 = (k * s + np.sin(psi) * p1**2) / np.cos(psi)
        x = self.r * c + self.l * np.cos(psi)
        x1 = -self.r * s - self.l * np.sin(psi) * p1
        x2 = -self.r * c - self.l * (np.cos(psi) * p1**2 + np.sin(psi) * p2)
        return (psi, p1, p2), (x, x1, x2)

    def state(self, theta, omega):
        """q and v."""
        (psi, p1, _), (x, x1, _) = self.motion(theta)
        return np.array([theta, psi - theta, x]), omega * np.array([1.0, p1 - 1.0, x1])

    def _centres(self, theta):
        """(x, z) of the centres of crank and rod, with first and second derivatives."""
        (psi, p1, p2), _ = self.motion(theta)

        def turned(a, angle, a1, a2):
            e, n = np.array([np.cos(angle), -np.sin(angle)]), np.array([-np.sin(angle), -np.cos(angle)])
            return np.array([a * e, a * a1 * n, a * (a2 * n - a1**2 * e)])

        return turned(self.c1, theta, 1.0, 0.0), turned(self.r, theta, 1.0, 0.0) + turned(self.c2, psi, p1, p2)

    def acceleration(self, theta, omega, torque):
        """The acceleration of the crank, by Lagrange."""
        (_, p1, p2), (_, x1, x2) = self.motion(theta)
        one, two = self._centres(theta)
        J = self.I1 + self.m1 * one[1] @ one[1] + self.m2 * two[1] @ two[1] + self.I2 * p1**2 + self.m3 * x1**2
        half = self.m1 * one[1] @ one[2] + self.m2 * two[1] @ two[2] + self.I2 * p1 * p2 + self.m3 * x1 * x2
        V1 = G * (self.m1 * one[1][1] + self.m2 * two[1][1])
        return (torque - half * omega**2 - V1) / J

    def bearings(self, theta, omega, torque):
        """The forces (x, z) on the crank in the main bearing, on the rod in the crank pin, on the rod in the wrist."""
        alpha = self.acceleration(theta, omega, torque)
        (psi, p1, p2), (_, x1, x2) = self.motion(theta)
        weight = np.array([0.0, G])
        a1, a2 = (c[1] * alpha + c[2] * omega**2 + weight for c in self._centres(theta))
        wrist_x = -self.m3 * (x1 * alpha + x2 * omega**2)
        pin_x = self.m2 * a2[0] - wrist_x
        e = np.array([np.cos(psi), -np.sin(psi)])
        to_pin, to_wrist = -self.c2 * e, (self.l - self.c2) * e
        turning = self.I2 * (p1 * alpha + p2 * omega**2) - to_pin[1] * pin_x - to_wrist[1] * wrist_x
        pin_z, wrist_z = np.linalg.solve([[1.0, 1.0], [-to_pin[0], -to_wrist[0]]], [self.m2 * a2[1], turning])
        pin, wrist = np.array([pin_x, pin_z]), np.array([wrist_x, wrist_z])
        return self.m1 * a1 + pin, pin, wrist
