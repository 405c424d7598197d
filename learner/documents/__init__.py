"""Reads Markdown, HTML and text files into sections with links to the code they mention.

May import `learner.pipeline` and below.
"""
