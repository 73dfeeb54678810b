#!/usr/bin/python3 -B
"""Tests torch.distributed with the variables of the plugin pytorch, in the pods of a master and of two workers."""

import subprocess

import harness
import manifests
import pods

PYTHON = "/usr/bin/python3"
PROGRAM = """
import os, torch, torch.distributed
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
value = torch.tensor([10.0 ** rank])
torch.distributed.all_reduce(value)
print(f"rank {rank} of {torch.distributed.get_world_size()} on {os.uname().nodename}: {int(value.item())}", flush=True)
torch.distributed.destroy_process_group()
"""


class Torch(harness.TestCase):
    def setUp(self):
        super().setUp()
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, timeout=120).returncode != 0:
            self.skipTest("there is no PyTorch: tests/plugins/programs.sh installs it")

    def test_the_processes_form_a_group(self):
        command = [PYTHON, "-c", PROGRAM]
        tasks = [manifests.task("master", 1, command), manifests.task("worker", 2, command)]
        objects = manifests.render("torch", {"pytorch": ["--wait-master-enabled", "--port=20001"]}, tasks)
        with pods.Job(objects) as job:
            master, *workers = (job.pods[name] for name in ("torch-master-0", "torch-worker-0", "torch-worker-1"))
            waiting = [worker.start("wait-for-master", "initContainers") for worker in workers]
            processes = [master.start()]
            for worker, wait in zip(workers, waiting):
                wait.finish(120)
                processes.append(worker.start())
            said = [process.finish(120).splitlines()[-1] for process in processes]
            self.assertEqual(said, ["rank 0 of 3 on torch-master-0: 111", "rank 1 of 3 on torch-worker-0: 111",
                                    "rank 2 of 3 on torch-worker-1: 111"])


if __name__ == "__main__":
    harness.main()
