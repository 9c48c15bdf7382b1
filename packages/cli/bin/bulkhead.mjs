#!/usr/bin/env node
// The link target of the `bulkhead` command: exists before the build, so that package managers can link it.
import '../dist/main.js';
