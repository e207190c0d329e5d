"""Labels of two prices: a judge and experts at equal money, on drawn and on real streams."""
