"""Methods: recipes that turn noisy answers into a generator of rows. One recipe a file."""
