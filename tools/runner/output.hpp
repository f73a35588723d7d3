// Standard output: that something is there to write to, and whether what was printed arrived.
#pragma once

namespace convoy::runner {

/// Opens /dev/null in the place of standard descriptors that whoever started the program closed: the first file that it
/// opens would get that number, and what is printed would land in it. Before anything is opened.
void fill_standard_descriptors();

/// Flushes standard output and returns `code`. Errors: storage, where something of it was lost.
int printed(int code);

}  // namespace convoy::runner
