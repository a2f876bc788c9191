"""Chapter 4: perturbed data on which VAEs entangle."""
