"""The fleet for commands and tools: asking all repositories of a lake, and learning and publishing many of them."""
