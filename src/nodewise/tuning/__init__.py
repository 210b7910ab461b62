"""From a program to a space of settings: axes, options, the catalogue of knobs, builds, ranks."""
