"""One view of a trained model, and every measure of it by name."""
