"""What is checked: files and how they are found, notebooks, suppressions, baselines, the result cache."""
