"""How conclusions are written, whatever comparison drew them."""
