"""Readers of formats other than plain text: Office, PDF, images, email and calendars."""
