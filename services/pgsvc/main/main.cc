#include "services/pgsvc/main/program.h"

int main(int argc, char** argv) { return basalt::pgsvc::Main(argc, argv); }
