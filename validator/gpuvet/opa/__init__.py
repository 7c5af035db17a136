"""Open Policy Agent: puts our policies on a server, asks it for verdicts, and asks the users' own packages that it serves."""
