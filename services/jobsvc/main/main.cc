#include "services/jobsvc/main/program.h"

int main(int argc, char** argv) { return basalt::jobsvc::Main(argc, argv); }
