"""From samples to typed results: what a comparison, a tune and a study show."""
