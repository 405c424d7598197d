"""What people and agents touch: the command line, and later the servers, hooks and installers."""
