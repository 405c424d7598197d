"""Markdown, HTML and text files become sections with links to the code they mention.

May import `learner.pipeline` and below.
"""
