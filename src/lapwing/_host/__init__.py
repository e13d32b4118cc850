"""The machine: files, memory, threads, optional packages."""
