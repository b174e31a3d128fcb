"""XPath 3.1 on documents: parsed by elementpath, evaluated here. It takes long to load, and loads what is asked for."""
