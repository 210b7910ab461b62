"""Questions answered by interleaved blocks: compare, tune, scale, study, roofline."""
