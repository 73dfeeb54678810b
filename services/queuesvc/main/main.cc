#include "services/queuesvc/main/program.h"

int main(int argc, char** argv) { return basalt::queuesvc::Main(argc, argv); }
