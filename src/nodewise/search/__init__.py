"""Which settings to try: spaces of axes, and the searches over them."""
