"""Models as parts of a system: motions out, forces in."""
