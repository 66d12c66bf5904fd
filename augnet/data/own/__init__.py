"""Data of your own: whatever it is kept in, it becomes samples, labels and an account of both."""
