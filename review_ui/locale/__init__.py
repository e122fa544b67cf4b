"""The words of the pages in other languages, and what renews them."""
