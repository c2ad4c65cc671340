"""What a release is made of and who is owed what for it; nothing of this is installed."""
