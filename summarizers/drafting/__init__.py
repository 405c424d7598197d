"""What to draft, with which prompt, and the run itself.

May import `summarizers.models`, `summarizers.grounding` and `graph`.
"""
