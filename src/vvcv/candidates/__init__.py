"""What each rung offers for a task: plain average, polynomial, kernel."""
