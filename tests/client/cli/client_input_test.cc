// Only collects the tests of its neighbours into one binary.
