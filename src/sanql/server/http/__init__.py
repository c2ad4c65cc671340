"""The door over HTTP: routes that turn words into requests and answers into words."""
