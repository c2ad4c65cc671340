"""How often `sanql audit` finds faults that are planted, and that it is silent where there are none."""
