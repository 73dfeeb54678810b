// A target needs a source, and these targets have only precompiled headers.
