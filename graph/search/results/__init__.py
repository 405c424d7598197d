"""The results of a search, by how they are found: by their names, by words, and texts such as notes and documents."""
