"""The stored experiment: question, samples, resume, budget, recorder."""
