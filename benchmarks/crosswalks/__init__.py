"""How much of what others make of real documents our mappings make of them too."""
