// A target needs a source: this one has only precompiled headers.
