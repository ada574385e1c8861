"""Arrays only: no text, no files, no models. Each module is one algorithm family."""
