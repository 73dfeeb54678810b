#!/usr/bin/python3 -B
"""Tests Open MPI, started in a master's pod on the pods of its workers, which it finds by the plugin mpi."""

import harness
import manifests
import pods
from ssh_test import ROOT_SERVER

# A program of MPI, by the library itself: every rank prints its host and the sum of all ranks that it has received.
PROGRAM = """
import ctypes, socket
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
def address_of(name):
    return ctypes.byref(ctypes.c_char.in_dll(mpi, name))
world = address_of("ompi_mpi_comm_world")
rank, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Comm_rank(world, ctypes.byref(rank)) == 0
assert mpi.MPI_Comm_size(world, ctypes.byref(size)) == 0
assert mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, address_of("ompi_mpi_int"),
                         address_of("ompi_mpi_op_sum"), world) == 0
print(f"rank {rank.value} of {size.value} on {socket.gethostname()}: {total.value}", flush=True)
assert mpi.MPI_Finalize() == 0
"""
RUN = "mpirun --allow-run-as-root -np 2"
HELLO = "/usr/bin/python3 /opt/hello.py"


class Mpi(harness.TestCase):
    programs = ("mpirun", "sshd", "ssh", "ssh-keygen")

    def hello(self, plugins, server, command):
        """Two ranks, each in a worker of its own, find each other."""
        objects = manifests.render("mpi", plugins, [manifests.task("master", 1), manifests.task("worker", 2, server)])
        with pods.Job(objects, files={"/opt/hello.py": PROGRAM}) as job:
            workers = [job.pods["mpi-worker-0"], job.pods["mpi-worker-1"]]
            for worker, running in [(worker, worker.start()) for worker in workers]:
                worker.wait_for_port(worker.ports()["mpijob-port"], 20, running)
            said = job.pods["mpi-master-0"].run("sh", "-c", command, seconds=60)
            lines = sorted(line for line in said.splitlines() if line.startswith("rank "))
            self.assertEqual(lines, ["rank 0 of 2 on mpi-worker-0: 1", "rank 1 of 2 on mpi-worker-1: 1"])

    def test_the_ranks_run_on_the_hosts_of_the_variable(self):
        self.hello({"mpi": []}, ROOT_SERVER, f"{RUN} --host $MPI_HOST {HELLO}")

    def test_the_ranks_run_on_the_hosts_of_the_file(self):
        # If a file gives a host no number of slots, Open MPI uses the number of the host's cores.
        self.hello({"mpi": []}, ROOT_SERVER, f"{RUN} --map-by node --hostfile /etc/volcano/worker.host {HELLO}")

    def test_ssh_has_another_port(self):
        server = [*ROOT_SERVER[:-1], f"{ROOT_SERVER[-1]} -p 2222"]
        self.hello({"mpi": ["--port=2222"], "ssh": ["--ssh-port=2222"]}, server, f"{RUN} --host $MPI_HOST {HELLO}")


if __name__ == "__main__":
    harness.main()
