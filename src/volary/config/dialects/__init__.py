"""Other projects' files, read as applications of ours."""
