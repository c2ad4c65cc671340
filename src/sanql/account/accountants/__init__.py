"""What charges add up to, and whether one more fits: the arithmetic of composition."""
