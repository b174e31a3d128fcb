"""Three libraries with schemas unlike each other: flat with references, nested by maker, and fields with codes."""
