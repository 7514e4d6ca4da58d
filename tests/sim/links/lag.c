/* A lag as an FMU:  dx/dt = k (u - x),  y = x;  where x reaches 0.5 it falls by drop. FMI 2.0, or 3.0 with -DFMI3. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { double u, x, k, drop; } lag;
enum { U, Y, X, DX, K, DROP };
static double get(lag *m, unsigned r) { double v[] = {m->u, m->x, m->x, m->k * (m->u - m->x), m->k, m->drop}; return v[r]; }
static int set(lag *m, unsigned r, double v) {
    if (r == U) m->u = v; else if (r == X) m->x = v; else if (r == K) m->k = v; else if (r == DROP) m->drop = v; else return 3;
    return 0;
}
static int step(lag *m, double h) {
    if (m->u > 900.0) abort();
    if (m->u > 800.0) for (;;) {}
    if (m->u > 700.0) return 3;
    if (m->u > 600.0) m->x = NAN;
    m->x = m->u + (m->x - m->u) * exp(-m->k * h);
    return 0;
}
static void *make(void) { lag *m = calloc(1, sizeof *m); m->k = 1.0; return m; }
static void event(lag *m) { if (m->drop > 0.0 && m->x >= 0.5) m->x -= m->drop; }
#ifndef FMI3
void *fmi2Instantiate(const char *n, int kind, const char *guid, const char *r, const void *f, int v, int l) {
    return strcmp(guid, "lag-guid") ? NULL : make();
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2SetupExperiment(void *c, int td, double tol, double t0, int sd, double t1) { return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { return 0; }
int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v) { for (size_t i = 0; i < n; i++) v[i] = get(c, r[i]); return 0; }
int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v) {
    for (size_t i = 0; i < n; i++) if (set(c, r[i], v[i])) return 3;
    return 0;
}
int fmi2DoStep(void *c, double t, double h, int n) { return step(c, h); }
int fmi2GetFMUstate(void *c, void **s) { *s = malloc(sizeof(lag)); memcpy(*s, c, sizeof(lag)); return 0; }
int fmi2SetFMUstate(void *c, void *s) { memcpy(c, s, sizeof(lag)); return 0; }
int fmi2FreeFMUstate(void *c, void **s) { free(*s); *s = NULL; return 0; }
int fmi2SerializedFMUstateSize(void *c, void *s, size_t *n) { *n = sizeof(lag); return 0; }
int fmi2SerializeFMUstate(void *c, void *s, char *b, size_t n) { memcpy(b, s, n); return 0; }
int fmi2DeSerializeFMUstate(void *c, const char *b, size_t n, void **s) { *s = malloc(n); memcpy(*s, b, n); return 0; }
typedef struct { int needed, terminate, nominals, values, defined; double next; } info;
int fmi2EnterEventMode(void *c) { return 0; }
int fmi2NewDiscreteStates(void *c, info *i) { memset(i, 0, sizeof *i); event(c); return 0; }
int fmi2EnterContinuousTimeMode(void *c) { return 0; }
int fmi2SetTime(void *c, double t) { return 0; }
int fmi2SetContinuousStates(void *c, const double *x, size_t n) { ((lag *)c)->x = x[0]; return 0; }
int fmi2GetContinuousStates(void *c, double *x, size_t n) { x[0] = ((lag *)c)->x; return 0; }
int fmi2GetDerivatives(void *c, double *x, size_t n) { x[0] = get(c, DX); return 0; }
int fmi2GetEventIndicators(void *c, double *z, size_t n) { z[0] = ((lag *)c)->x - 0.5; return 0; }
#else
typedef const char *text;
void *fmi3InstantiateCoSimulation(text n, text token, text r, bool v, bool l, bool e, bool y, const uint32_t *q, size_t nq,
                                  void *env, void *log, void *mid) { return strcmp(token, "lag-guid") ? NULL : make(); }
void *fmi3InstantiateModelExchange(text n, text token, text r, bool v, bool l, void *env, void *log) {
    return strcmp(token, "lag-guid") ? NULL : make();
}
void fmi3FreeInstance(void *c) { free(c); }
int fmi3EnterInitializationMode(void *c, bool td, double tol, double t0, bool sd, double t1) { return 0; }
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t m) {
    for (size_t i = 0; i < n; i++) v[i] = get(c, r[i]);
    return 0;
}
int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t m) {
    for (size_t i = 0; i < n; i++) if (set(c, r[i], v[i])) return 3;
    return 0;
}
int fmi3DoStep(void *c, double t, double h, bool no, bool *e, bool *end, bool *early, double *last) {
    *e = *end = *early = false;
    *last = t + h;
    return step(c, h);
}
int fmi3GetFMUState(void *c, void **s) { *s = malloc(sizeof(lag)); memcpy(*s, c, sizeof(lag)); return 0; }
int fmi3SetFMUState(void *c, void *s) { memcpy(c, s, sizeof(lag)); return 0; }
int fmi3FreeFMUState(void *c, void **s) { free(*s); *s = NULL; return 0; }
int fmi3SerializedFMUStateSize(void *c, void *s, size_t *n) { *n = sizeof(lag); return 0; }
int fmi3SerializeFMUState(void *c, void *s, uint8_t *b, size_t n) { memcpy(b, s, n); return 0; }
int fmi3DeserializeFMUState(void *c, const uint8_t *b, size_t n, void **s) { *s = malloc(n); memcpy(*s, b, n); return 0; }
int fmi3EnterEventMode(void *c) { return 0; }
int fmi3UpdateDiscreteStates(void *c, bool *a, bool *b, bool *d, bool *e, bool *f, double *t) {
    *a = *b = *d = *e = *f = false;
    event(c);
    return 0;
}
int fmi3EnterContinuousTimeMode(void *c) { return 0; }
int fmi3SetTime(void *c, double t) { return 0; }
int fmi3SetContinuousStates(void *c, const double *x, size_t n) { ((lag *)c)->x = x[0]; return 0; }
int fmi3GetContinuousStates(void *c, double *x, size_t n) { x[0] = ((lag *)c)->x; return 0; }
int fmi3GetContinuousStateDerivatives(void *c, double *x, size_t n) { x[0] = get(c, DX); return 0; }
int fmi3GetEventIndicators(void *c, double *z, size_t n) { z[0] = ((lag *)c)->x - 0.5; return 0; }
int fmi3GetNumberOfContinuousStates(void *c, size_t *n) { *n = 1; return 0; }
int fmi3GetNumberOfEventIndicators(void *c, size_t *n) { *n = 1; return 0; }
#endif
