"""Five real streams from end to end, at a few label rates."""
