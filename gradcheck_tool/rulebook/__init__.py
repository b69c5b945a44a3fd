"""What a rule is: packs, selection, documentation, fixes, and the set of rules in force."""
