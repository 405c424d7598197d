"""The commands as they are declared: names, arguments, help. What they do is imported when they run."""
