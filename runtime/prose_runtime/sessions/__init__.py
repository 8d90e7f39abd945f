"""The session side: prompts out of tasks, answers out of replies."""
