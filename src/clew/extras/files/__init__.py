"""Readers of files that are not plain text: Office, PDF, pictures, messages and calendars."""
