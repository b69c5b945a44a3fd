"""Models of torch and of libraries around it."""
