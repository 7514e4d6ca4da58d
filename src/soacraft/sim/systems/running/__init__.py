"""How a system goes on in time: calls in their order, ticks, values, and the flow that a propagator carries along."""
