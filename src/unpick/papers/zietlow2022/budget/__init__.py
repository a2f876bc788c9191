"""The budget of precision: figures and worked examples of chapter 3."""
