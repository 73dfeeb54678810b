#include "gateway/main/program.h"

int main(int argc, char** argv) { return basalt::gateway::Main(argc, argv); }
