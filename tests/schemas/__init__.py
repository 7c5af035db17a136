"""What the tests of schemas share: skeletons of CRDs, and the table of instances."""
