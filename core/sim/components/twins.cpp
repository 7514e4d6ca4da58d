// The equations of the components that come along, in the order of operations that Python has, so that both give the same
// bits: this file is built without fused multiplications (-ffp-contract=off). p has the fields of a component's parameters in
// their order; where they say None or a text it has one NaN.
#include "sim/components/twins.hpp"

#include <cmath>

namespace soacraft {
namespace sim {
namespace {

typedef const double* const* In;
typedef const double* Params;
typedef std::int64_t Count;

double clip(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

void same(In in, Params, double* out, Count n) {
    for (Count i = 0; i < n; ++i) out[i] = in[0][i];
}
// A link with another unit: p is the factor.
void scaled(In in, Params p, double* out, Count n) {
    for (Count i = 0; i < n; ++i) out[i] = in[0][i] * p[0];
}

void gain(In in, Params p, double* out, Count n) {  // gain
    for (Count i = 0; i < n; ++i) out[i] = p[0] * in[0][i];
}
void sum(In in, Params p, double* out, Count n) {  // sign_a, sign_b
    for (Count i = 0; i < n; ++i) out[i] = p[0] * in[0][i] + p[1] * in[1][i];
}
void product(In in, Params, double* out, Count n) {
    for (Count i = 0; i < n; ++i) out[i] = in[0][i] * in[1][i];
}
void saturation(In in, Params p, double* out, Count n) {  // lower, upper
    for (Count i = 0; i < n; ++i) out[i] = clip(in[0][i], p[0], p[1]);
}
void join(In in, Params p, double* out, Count n) {  // size_a, NaN for a number
    const Count first = std::isnan(p[0]) ? 1 : static_cast<Count>(p[0]);
    for (Count i = 0; i < n; ++i) out[i] = i < first ? in[0][i] : in[1][i - first];
}
void express(In in, Params p, double* out, Count) {  // source, target, inverse
    const Count row = p[2] != 0.0 ? 1 : 3, column = p[2] != 0.0 ? 3 : 1;
    for (Count i = 0; i < 3; ++i) {
        const double* R = in[0] + i * row;
        out[i] = R[0] * in[1][0] + R[column] * in[1][1] + R[2 * column] * in[1][2];
    }
}

void constant(In, Params p, double* out, Count n) {
    for (Count i = 0; i < n; ++i) out[i] = p[i];
}
void step(In in, Params p, double* out, Count) { *out = *in[0] >= p[0] ? p[2] : p[1]; }                  // at, before, after
void ramp(In in, Params p, double* out, Count) { *out = *in[0] >= p[1] ? p[0] * (*in[0] - p[1]) : 0.0; }  // slope, at
void sine(In in, Params p, double* out, Count) {  // frequency, amplitude, phase, offset
    constexpr double TURN = 2.0 * 3.14159265358979323846;
    *out = p[3] + p[1] * std::sin(TURN * p[0] * *in[0] + p[2]);
}

void low_pass(In in, Params p, double* out, Count n) {  // time_constant; u, x
    for (Count i = 0; i < n; ++i) out[i] = (in[0][i] - in[1][i]) / p[0];
}
void discrete_filter(In in, Params p, double* out, Count n) {  // weight; u, x
    for (Count i = 0; i < n; ++i) out[i] = in[1][i] + p[0] * (in[0][i] - in[1][i]);
}

void pd(In in, Params p, double* out, Count n) {  // kp, kd; target, measured, rate
    for (Count i = 0; i < n; ++i) out[i] = p[0] * (in[0][i] - in[1][i]) - p[1] * in[2][i];
}
void pid_command(In in, Params p, double* out, Count n) {  // kp, ki, kd, lower, upper; dt, target, measured, sum, last
    for (Count i = 0; i < n; ++i) {
        const double e = in[1][i] - in[2][i];
        out[i] = clip(p[0] * e + in[3][i] + p[2] * (e - in[4][i]) / *in[0], p[3], p[4]);
    }
}
void pid_sum(In in, Params p, double* out, Count n) {  // dt, target, measured, sum
    for (Count i = 0; i < n; ++i) out[i] = clip(in[3][i] + p[1] * *in[0] * (in[1][i] - in[2][i]), p[3], p[4]);
}
void less(In in, Params, double* out, Count n) {
    for (Count i = 0; i < n; ++i) out[i] = in[0][i] - in[1][i];
}

void motor_torque(In in, Params p, double* out, Count) { *out = p[3] * p[2] * *in[0]; }  // R, L, k, n; current
void motor_rate(In in, Params p, double* out, Count) {                                   // voltage, speed, current
    *out = (*in[0] - p[0] * *in[2] - p[2] * p[3] * *in[1]) / p[1];
}
// gain, b0, b1, b2, lower_control, upper_control, lower, upper, gear; control, position, velocity
void drive(In in, Params p, double* out, Count) {
    const double u = clip(*in[0], p[4], p[5]), f = p[0] * u + p[1] + p[8] * (p[2] * *in[1] + p[3] * *in[2]);
    *out = p[8] * clip(f, p[6], p[7]);
}
// A x of a matrix by rows, or A* x.
void times(const double* A, const double* x, double* out) {
    for (int i = 0; i < 3; ++i) out[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}
void times_transposed(const double* A, const double* x, double* out) {
    for (int i = 0; i < 3; ++i) out[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}
void cross(const double* a, const double* b, double* out) {
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        out[k] = a[i] * b[j] - a[j] * b[i];
    }
}
// mu, center; position, rotation, mass, center of mass, moment
void point_gravity(In in, Params p, double* out, Count) {
    const double *R = in[1], *I = in[4], mu = p[0], mass = *in[2];
    double c[3], r[3], e[3], u[3], w[3], Ie[3], F[3], by_gradient[3], by_force[3];
    times(R, in[3], c);
    for (int i = 0; i < 3; ++i) r[i] = in[0][i] + c[i] - p[1 + i];
    const double s = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], d = std::sqrt(s);
    for (int i = 0; i < 3; ++i) e[i] = r[i] / d;
    times_transposed(R, e, u);
    times(I, u, w);
    times(R, w, Ie);
    const double trace = I[0] + I[4] + I[8], eIe = e[0] * Ie[0] + e[1] * Ie[1] + e[2] * Ie[2];
    const double bend = -1.5 * mu / (s * s), along = -mu * mass / s + bend * (trace - 5.0 * eIe);
    for (int i = 0; i < 3; ++i) F[i] = along * e[i] + 2.0 * bend * Ie[i];
    cross(e, Ie, by_gradient);
    cross(c, F, by_force);
    for (int i = 0; i < 3; ++i) out[i] = 3.0 * mu / (s * d) * by_gradient[i] + by_force[i], out[3 + i] = F[i];
}
void thruster(In in, Params, double* out, Count) { out[0] = *in[0], out[1] = 0.0, out[2] = 0.0; }
void sensor(In in, Params p, double* out, Count n) {  // deviation, density, bias, scale; dt, u, noise
    const double size = std::pow(p[0] * p[0] + p[1] * p[1] / *in[0], 0.5);
    for (Count i = 0; i < n; ++i) out[i] = p[3] * in[1][i] + p[2] + size * in[2][i];
}

}  // namespace

const Named TWINS[] = {
    {"same", same},
    {"scaled", scaled},
    {"Constant.y", constant},
    {"DiscreteFilter.y", same},
    {"DiscreteFilter.x_next", discrete_filter},
    {"Drive.force", drive},
    {"Express.y", express},
    {"Force.force", same},
    {"Gain.y", gain},
    {"Integrator.y", same},
    {"Integrator.x_rate", same},
    {"Join.y", join},
    {"LowPass.y", same},
    {"LowPass.x_rate", low_pass},
    {"Motor.torque", motor_torque},
    {"Motor.current_rate", motor_rate},
    {"PD.command", pd},
    {"PID.command", pid_command},
    {"PID.sum_next", pid_sum},
    {"PID.last_next", less},
    {"PointGravity.wrench", point_gravity},
    {"Product.y", product},
    {"Ramp.y", ramp},
    {"SampleHold.y", same},
    {"Saturation.y", saturation},
    {"Sensor.y", sensor},
    {"Sine.y", sine},
    {"Step.y", step},
    {"Sum.y", sum},
    {"Thruster.force", thruster},
    {"UnitDelay.y", same},
    {"UnitDelay.x_next", same},
    {nullptr, nullptr},
};

}  // namespace sim
}  // namespace soacraft
