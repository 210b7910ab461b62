"""Questions answered by interleaved blocks: compare, tune, study, roofline."""
