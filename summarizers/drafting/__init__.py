"""The queue of drafts, the prompts, and the run that writes drafts.

May import `summarizers.models`, `summarizers.grounding` and `graph`.
"""
