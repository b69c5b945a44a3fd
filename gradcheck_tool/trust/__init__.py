"""What a repository cannot do to who checks it: SECURITY.md lists the promises that this package keeps."""
