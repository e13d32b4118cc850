"""Services of the machine: files, memory, threads, optional packages."""
