"""Structure that changes while a system runs: edits of a moving model, and the phases of a mission."""
