def machine_text(machine, places=None, width=100):
    return "drawing"
